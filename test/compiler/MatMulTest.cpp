// Matrix products as contractions against plain loops: batches, broadcasting,
// transpositions, constant factors, views, epilogues.

#include "test/compiler/KernelHarness.h"

#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

using namespace pascaline::test;

namespace {

using Extents = std::vector<int64_t>;

int64_t product(const Extents &values) {
  return std::accumulate(values.begin(), values.end(), int64_t(1),
                         std::multiplies<int64_t>());
}

std::string tensor(const Extents &shape) {
  std::string text = "tensor<";
  for (int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text + "f32>";
}

/// Offset of batch number `index` of `batch` in a tensor whose own leading
/// dimensions are `own` and whose matrices have `matrix` elements.
int64_t batchOffset(int64_t index, const Extents &batch, const Extents &own,
                    int64_t matrix) {
  int64_t offset = 0, stride = matrix;
  for (size_t i = 0; i < batch.size(); ++i) {
    int64_t extent = batch[batch.size() - 1 - i];
    int64_t at = index % extent;
    index /= extent;
    if (i >= own.size())
      continue;
    int64_t mine = own[own.size() - 1 - i];
    offset += (mine == 1 ? 0 : at) * stride;
    stride *= mine;
  }
  return offset;
}

struct Product {
  Extents batchA, batchB, batch; ///< leading dimensions of a, b and y
  int64_t m, n, k;
  bool transposeA = false, transposeB = false, constantA = false,
       constantB = false;
};

void check(const Product &p) {
  auto join = [](Extents lead, int64_t rows, int64_t columns) {
    lead.push_back(rows);
    lead.push_back(columns);
    return lead;
  };
  Extents a =
      p.transposeA ? join(p.batchA, p.k, p.m) : join(p.batchA, p.m, p.k);
  Extents b =
      p.transposeB ? join(p.batchB, p.n, p.k) : join(p.batchB, p.k, p.n);
  Extents y = join(p.batch, p.m, p.n);
  std::string bias = tensor({p.n});
  std::string flags = std::string(p.transposeA ? "transpose_a" : "") +
                      (p.transposeA && p.transposeB ? ", " : "") +
                      (p.transposeB ? "transpose_b" : "");
  std::string op = "pascaline.matmul %0, %1 {" + flags + "} : " + tensor(a) +
                   ", " + tensor(b);
  SCOPED_TRACE(op);
  std::string parameters = "%c: " + bias, constants;
  (p.constantA ? constants : parameters) +=
      p.constantA ? "%a = pascaline.constant dense<1.0> : " + tensor(a) + "\n"
                  : ", %a: " + tensor(a);
  (p.constantB ? constants : parameters) +=
      p.constantB ? "%b = pascaline.constant dense<1.0> : " + tensor(b) + "\n"
                  : ", %b: " + tensor(b);
  std::string text =
      "func.func @main(" + parameters + ") -> " + tensor(y) + " {\n" +
      constants + "%y = pascaline.fused(%a, %b, %c) : (" + tensor(a) + ", " +
      tensor(b) + ", " + bias + ") -> " + tensor(y) +
      " {\n^bb0(%0: " + tensor(a) + ", %1: " + tensor(b) + ", %2: " + bias +
      "):\n%3 = " + op + "\n%4 = pascaline.add %3, %2 : " + tensor(y) + ", " +
      bias + "\npascaline.yield %4 : " + tensor(y) +
      "\n}\nreturn %y : " + tensor(y) + "\n}";
  std::vector<float> as = randomFloats(product(a), -1, 1, 1);
  std::vector<float> bs = randomFloats(product(b), -1, 1, 2);
  std::vector<float> cs = randomFloats(p.n, -1, 1, 3);
  KernelRun run = runGroup(text, {bytesOf(as), bytesOf(bs), bytesOf(cs)});
  ASSERT_EQ(run.error, "");
  EXPECT_EQ(run.ptx.find(".local"), std::string::npos);
  std::vector<float> got = valuesOf<float>(run.outputs[0]);
  int wrong = 0;
  for (int64_t i = 0; i < product(y) && wrong < 5; ++i) {
    int64_t n = i % p.n, m = i / p.n % p.m, batch = i / p.n / p.m;
    int64_t fromA = batchOffset(batch, p.batch, p.batchA, p.m * p.k);
    int64_t fromB = batchOffset(batch, p.batch, p.batchB, p.k * p.n);
    double want = cs[n], size = 1;
    for (int64_t k = 0; k < p.k; ++k) {
      double term =
          double(as[fromA + (p.transposeA ? k * p.m + m : m * p.k + k)]) *
          bs[fromB + (p.transposeB ? n * p.k + k : k * p.n + n)];
      want += term;
      size += std::abs(term);
    }
    if (!(std::abs(got[i] - want) <= 1e-6 * size)) {
      ADD_FAILURE() << "element " << i << " is " << got[i] << ", not " << want;
      ++wrong;
    }
  }
}

TEST(MatMul, EveryTransposition) {
  for (bool transposeA : {false, true})
    for (bool transposeB : {false, true}) {
      check({{}, {}, {}, 65, 36, 28, transposeA, transposeB});
      check({{}, {}, {}, 33, 35, 17, transposeA, transposeB});
    }
}

TEST(MatMul, ConstantFactors) {
  for (bool transpose : {false, true}) {
    check({{}, {}, {}, 7, 100, 50, false, transpose, false, true});
    check({{}, {}, {}, 40, 36, 50, transpose, false, true, false});
    check({{3}, {}, {3}, 9, 20, 31, false, transpose, false, true});
  }
}

TEST(MatMul, BatchesBroadcast) {
  check({{4}, {4}, {4}, 17, 20, 12});
  check({{4}, {}, {4}, 17, 20, 12});
  check({{}, {3}, {3}, 17, 20, 12});
  check({{2, 1}, {3}, {2, 3}, 5, 8, 12});
  check({{2, 3}, {1, 3}, {2, 3}, 5, 8, 12, true, true});
  check({{2, 1}, {1, 3}, {2, 3}, 8, 7, 9, false, true});
}

TEST(MatMul, OneRowOrColumn) {
  check({{}, {}, {}, 1, 130, 300, false, false, false, true});
  check({{}, {}, {}, 1, 130, 300, false, true, false, true});
  check({{}, {}, {}, 2, 33, 70});
  check({{}, {}, {}, 130, 1, 300});
  check({{5}, {5}, {5}, 1, 1, 33});
  check({{}, {}, {}, 3, 3, 1});
}

TEST(MatMul, ReadsViewsInPlace) {
  // Attention's q * k^T from [tokens, heads, width] without a copy.
  std::string q = "tensor<6x4x8xf32>", t = "tensor<4x6x8xf32>";
  std::string text = groupText(
      {q, q}, {"tensor<4x6x6xf32>"},
      "%2 = pascaline.transpose %0 {perm = array<i64: 1, 0, 2>} : " + q +
          "\n%3 = pascaline.transpose %1 {perm = array<i64: 1, 0, 2>} : " + q +
          "\n%4 = pascaline.matmul %2, %3 {transpose_b} : " + t + ", " + t +
          "\npascaline.yield %4 : tensor<4x6x6xf32>");
  std::vector<float> a = randomFloats(192, -1, 1, 1);
  std::vector<float> b = randomFloats(192, -1, 1, 2);
  KernelRun run = runGroup(text, {bytesOf(a), bytesOf(b)});
  ASSERT_EQ(run.error, "");
  std::vector<float> y = valuesOf<float>(run.outputs[0]);
  for (int64_t i = 0; i < 144; ++i) {
    int64_t head = i / 36, m = i / 6 % 6, n = i % 6;
    double want = 0;
    for (int64_t k = 0; k < 8; ++k)
      want += double(a[(m * 4 + head) * 8 + k]) * b[(n * 4 + head) * 8 + k];
    ASSERT_NEAR(y[i], want, 1e-5) << i;
  }
}

} // namespace
