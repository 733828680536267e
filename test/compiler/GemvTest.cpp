// Products with few rows or columns against plain loops: both layouts of a
// constant matrix, a matrix read in place, lanes and slices, tails, batches,
// convolutions of one pixel, an epilogue.

#include "test/compiler/KernelHarness.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace pascaline::test;

namespace {

std::string tensor(std::initializer_list<int64_t> shape,
                   const char *element = "f32") {
  std::string text = "tensor<";
  for (int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text + element + ">";
}

bool isGemv(const KernelRun &run) {
  return run.configuration.find("elements a step") != std::string::npos;
}

void expectNear(const std::vector<float> &got, size_t at, double want,
                double size) {
  EXPECT_LE(std::abs(got.at(at) - want), 1e-6 * size + 1e-30)
      << "element " << at << " is " << got[at] << ", not " << want;
}

/// What a constant operand is declared as; the harness passes its bytes.
std::string constant(const std::string &name, const std::string &type) {
  return "%" + name + " = pascaline.constant dense<1.0> : " + type + "\n";
}

/// relu(a * b + c) for batch products [m, k] x [k, n].
KernelRun check(int64_t batch, int64_t m, int64_t n, int64_t k, bool transposeB,
                bool constantB) {
  std::string a = tensor({batch, m, k}), y = tensor({batch, m, n});
  std::string b = transposeB ? tensor({batch, n, k}) : tensor({batch, k, n});
  if (constantB) // one matrix for all
    b = transposeB ? tensor({n, k}) : tensor({k, n});
  std::string c = tensor({n});
  std::string text =
      "func.func @main(%a: " + a + ", %c: " + c +
      (constantB ? "" : ", %b: " + b) + ") -> " + y + " {\n" +
      (constantB ? constant("b", b) : "") + "%y = pascaline.fused(%a, %b, %c)" +
      " : (" + a + ", " + b + ", " + c + ") -> " + y + " {\n^bb0(%0: " + a +
      ", %1: " + b + ", %2: " + c + "):\n%3 = pascaline.matmul %0, %1 {" +
      (transposeB ? "transpose_b" : "") + "} : " + a + ", " + b +
      "\n%4 = pascaline.add %3, %2 : " + y + ", " + c +
      "\n%5 = pascaline.relu %4 : " + y + "\npascaline.yield %5 : " + y +
      "\n}\nreturn %y : " + y + "\n}";
  SCOPED_TRACE(text);
  int64_t copies = constantB ? 1 : batch;
  std::vector<float> as = randomFloats(batch * m * k, -1, 1, 1);
  std::vector<float> bs = randomFloats(copies * k * n, -1, 1, 2);
  std::vector<float> cs = randomFloats(n, -1, 1, 3);
  KernelRun run = runGroup(text, {bytesOf(as), bytesOf(bs), bytesOf(cs)});
  EXPECT_EQ(run.error, "");
  if (!run.error.empty())
    return run;
  EXPECT_EQ(run.ptx.find(".local"), std::string::npos);
  std::vector<float> got = valuesOf<float>(run.outputs[0]);
  for (int64_t i = 0; i < batch * m * n && !testing::Test::HasFailure(); ++i) {
    int64_t column = i % n, vector = i / n;
    const float *matrix = &bs[constantB ? 0 : vector / m * k * n];
    double want = cs[column], size = 1;
    for (int64_t p = 0; p < k; ++p) {
      double term = double(as[vector * k + p]) *
                    matrix[transposeB ? column * k + p : p * n + column];
      want += term;
      size += std::abs(term);
    }
    expectNear(got, i, std::max(want, 0.0), size);
  }
  return run;
}

TEST(Gemv, EveryExtentAndLayout) {
  for (int64_t n : {1, 3, 7, 64, 65, 1000})
    for (int64_t k : {1, 3, 7, 64, 65, 1000, 2048})
      for (bool transpose : {false, true}) {
        KernelRun run = check(1, 1 + (n + k) % 4, n, k, transpose, true);
        EXPECT_TRUE(isGemv(run)) << n << " " << k << " " << run.configuration;
      }
}

TEST(Gemv, EveryNumberOfVectors) {
  for (int64_t m : {1, 2, 3, 4}) {
    EXPECT_TRUE(isGemv(check(1, m, 130, 300, true, true)));
    EXPECT_TRUE(isGemv(check(1, m, 40, 2048, false, true)));
  }
  EXPECT_FALSE(isGemv(check(1, 5, 130, 300, true, true)));
}

TEST(Gemv, FewColumns) {
  for (int64_t n : {1, 2, 3, 4}) {
    EXPECT_TRUE(isGemv(check(1, 130, n, 300, true, false)));
    EXPECT_TRUE(isGemv(check(1, 70, n, 35, false, false)));
  }
}

TEST(Gemv, Batches) {
  EXPECT_TRUE(isGemv(check(6, 1, 33, 64, true, false)));
  EXPECT_TRUE(isGemv(check(5, 20, 2, 33, false, false)));
  // Rows of k do not lie side by side, and nothing may be packed.
  EXPECT_FALSE(isGemv(check(3, 1, 33, 64, false, false)));
}

TEST(Gemv, FewLongRowsAreSliced) {
  KernelRun run = check(1, 3, 2, 25088, false, true);
  EXPECT_TRUE(isGemv(run));
  EXPECT_NE(run.configuration.find("slices"), std::string::npos)
      << run.configuration;
  EXPECT_GT(run.grid[1], 1);
}

TEST(Gemv, ReadsHalvesEightAtATime) {
  std::string a = tensor({1, 512}, "f16"), b = tensor({40, 512}, "f16");
  std::string y = tensor({1, 40}, "f16");
  KernelRun run = compileGroup(
      groupText({a, b}, {y},
                "%2 = pascaline.matmul %0, %1 {transpose_b} : " + a + ", " + b +
                    "\npascaline.yield %2 : " + y));
  ASSERT_EQ(run.error, "");
  EXPECT_TRUE(isGemv(run)) << run.configuration;
  EXPECT_NE(run.configuration.find("8 elements"), std::string::npos);
}

TEST(Gemv, ConvolutionOfOnePixel) {
  int64_t images = 2, channels = 48, outputs = 70, groups = 2;
  std::string x = tensor({images, channels, 1, 1});
  std::string w = tensor({outputs, channels / groups, 1, 1});
  std::string y = tensor({images, outputs, 1, 1});
  std::string text = groupText(
      {x, w}, {y},
      "%2 = pascaline.conv %0, %1 {strides = array<i64: 1, 1>, dilations = "
      "array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: "
      "0, 0>, groups = 2 : i64} : " +
          x + ", " + w + "\npascaline.yield %2 : " + y);
  std::vector<float> xs = randomFloats(images * channels, -1, 1, 1);
  std::vector<float> ws = randomFloats(outputs * channels / groups, -1, 1, 2);
  KernelRun run = runGroup(text, {bytesOf(xs), bytesOf(ws)});
  ASSERT_EQ(run.error, "");
  EXPECT_TRUE(isGemv(run)) << run.configuration;
  std::vector<float> got = valuesOf<float>(run.outputs[0]);
  int64_t depth = channels / groups;
  for (int64_t i = 0; i < images * outputs; ++i) {
    int64_t image = i / outputs, output = i % outputs;
    int64_t first = image * channels + output / (outputs / groups) * depth;
    double want = 0, size = 1;
    for (int64_t p = 0; p < depth; ++p) {
      want += double(xs[first + p]) * ws[output * depth + p];
      size += std::abs(double(xs[first + p]) * ws[output * depth + p]);
    }
    expectNear(got, i, want, size);
  }
}

} // namespace
