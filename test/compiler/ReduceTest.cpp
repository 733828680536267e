// Reductions and softmax: every way of dealing rows to threads, every kind,
// empty rows, NaN, prologues and epilogues.

#include "test/compiler/KernelHarness.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace pascaline::test;

static std::string tensor(std::vector<int64_t> shape, const char *element) {
  std::string text = "tensor<";
  for (int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text + element + ">";
}

namespace {
struct ReduceCase {
  std::vector<int64_t> shape;
  std::vector<int64_t> axes;
};
class ReduceShapes : public testing::TestWithParam<ReduceCase> {};
} // namespace

TEST_P(ReduceShapes, Sums) {
  const ReduceCase &c = GetParam();
  std::vector<int64_t> outShape = c.shape;
  std::string axes = "array<i64";
  for (size_t i = 0; i < c.axes.size(); ++i) {
    outShape[c.axes[i]] = 1;
    axes += (i ? ", " : ": ") + std::to_string(c.axes[i]);
  }
  int64_t count = 1, outCount = 1;
  for (int64_t e : c.shape)
    count *= e;
  for (int64_t e : outShape)
    outCount *= e;
  std::vector<float> x = randomFloats(count);
  std::string in = tensor(c.shape, "f32"), out = tensor(outShape, "f32");
  KernelRun run = runGroup(groupText({in}, {out},
                                     R"(
    %1 = pascaline.mul %0, %0 : )" + in + ", " +
                                         in + R"(
    %2 = pascaline.reduce sum %1 {axes = )" +
                                         axes + ">} : " + in + R"(
    %3 = pascaline.sqrt %2 : )" + out + R"(
    pascaline.yield %3 : )" + out),
                           {bytesOf(x)});
  ASSERT_EQ(run.error, "") << run.ptx;
  EXPECT_EQ(run.ptx.find(".local"), std::string::npos);
  std::vector<double> sums(outCount);
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, place = 0, stride = 1;
    for (int d = int(c.shape.size()) - 1; d >= 0; --d) {
      int64_t index = rest % c.shape[d];
      rest /= c.shape[d];
      if (outShape[d] > 1)
        place += index * stride;
      stride *= outShape[d];
    }
    sums[place] += double(x[i]) * x[i];
  }
  std::vector<float> y = valuesOf<float>(run.outputs[0]);
  for (int64_t i = 0; i < outCount; ++i)
    ASSERT_NEAR(y[i], std::sqrt(sums[i]), 2e-6 * std::sqrt(sums[i]) + 1e-6)
        << i << " " << run.configuration;
}

INSTANTIATE_TEST_SUITE_P(
    All, ReduceShapes,
    testing::Values(
        ReduceCase{{8}, {0}}, ReduceCase{{3, 5}, {1}},
        ReduceCase{{100, 3}, {1}}, ReduceCase{{37, 64}, {1}},
        ReduceCase{{37, 1000}, {1}}, ReduceCase{{5, 4099}, {1}},
        ReduceCase{{2, 16384}, {1}}, ReduceCase{{1, 70001}, {1}},
        ReduceCase{{40, 20000}, {1}}, ReduceCase{{1, 64, 7, 7}, {2, 3}},
        ReduceCase{{64, 37}, {0}}, ReduceCase{{7, 300}, {0}},
        ReduceCase{{1000, 33}, {0}}, ReduceCase{{4, 9, 6}, {1}},
        ReduceCase{{3, 50, 7, 11}, {1, 3}}, ReduceCase{{6, 5, 4, 3}, {0, 2}},
        ReduceCase{{6, 5, 4, 3}, {0, 1, 2, 3}}, ReduceCase{{4, 3}, {}},
        ReduceCase{{4, 0}, {1}}, ReduceCase{{0, 4}, {0}}));

TEST(Reduce, ExtremaKeepNan) {
  std::vector<float> x = randomFloats(6 * 40);
  x[45] = NAN;
  x[80] = INFINITY;
  x[120] = -INFINITY;
  for (const char *kind : {"max", "min"}) {
    KernelRun run =
        runGroup(groupText({"tensor<6x40xf32>"}, {"tensor<6x1xf32>"},
                           std::string("%1 = pascaline.reduce ") + kind + R"( %0
        {axes = array<i64: 1>} : tensor<6x40xf32>
    pascaline.yield %1 : tensor<6x1xf32>)"),
                 {bytesOf(x)});
    ASSERT_EQ(run.error, "") << run.ptx;
    std::vector<float> y = valuesOf<float>(run.outputs[0]);
    for (int row = 0; row < 6; ++row) {
      float best = x[row * 40];
      for (int i = 0; i < 40; ++i) {
        float v = x[row * 40 + i];
        best = kind[1] == 'a' ? std::max(best, v) : std::min(best, v);
      }
      if (row == 1)
        EXPECT_TRUE(std::isnan(y[row]));
      else
        EXPECT_EQ(y[row], best) << kind << " " << row;
    }
  }
}

TEST(Reduce, IntegersAreExactAndEmptyRowsGiveIdentities) {
  std::vector<int64_t> x(3 * 700);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = int64_t(i * 2654435761u) << 20;
  KernelRun run =
      runGroup(groupText({"tensor<3x700xi64>"}, {"tensor<3x1xi64>"}, R"(
    %1 = pascaline.reduce sum %0 {axes = array<i64: 1>} : tensor<3x700xi64>
    pascaline.yield %1 : tensor<3x1xi64>)"),
               {bytesOf(x)});
  ASSERT_EQ(run.error, "") << run.ptx;
  std::vector<int64_t> y = valuesOf<int64_t>(run.outputs[0]);
  for (int row = 0; row < 3; ++row) {
    uint64_t sum = 0;
    for (int i = 0; i < 700; ++i)
      sum += uint64_t(x[row * 700 + i]);
    EXPECT_EQ(uint64_t(y[row]), sum);
  }

  struct {
    const char *kind;
    int32_t identity;
  } kinds[] = {{"sum", 0}, {"prod", 1}, {"max", INT32_MIN}, {"min", INT32_MAX}};
  for (auto [kind, identity] : kinds) {
    run =
        runGroup(groupText({"tensor<2x0xi32>"}, {"tensor<2x1xi32>"},
                           std::string("%1 = pascaline.reduce ") + kind + R"( %0
        {axes = array<i64: 1>} : tensor<2x0xi32>
    pascaline.yield %1 : tensor<2x1xi32>)"),
                 {Bytes()});
    ASSERT_EQ(run.error, "") << run.ptx;
    EXPECT_EQ(valuesOf<int32_t>(run.outputs[0]),
              (std::vector<int32_t>{identity, identity}))
        << kind;
  }
}

TEST(Reduce, UnsignedBytesCompareAsUnsigned) {
  std::vector<uint8_t> x = {1, 200, 3, 4, 255, 6, 7, 8};
  KernelRun run =
      runGroup(groupText({"tensor<2x4xui8>"}, {"tensor<2x1xui8>"}, R"(
    %1 = pascaline.reduce max %0 {axes = array<i64: 1>} : tensor<2x4xui8>
    pascaline.yield %1 : tensor<2x1xui8>)"),
               {bytesOf(x)});
  ASSERT_EQ(run.error, "") << run.ptx;
  EXPECT_EQ(valuesOf<uint8_t>(run.outputs[0]),
            (std::vector<uint8_t>{200, 255}));
}

//===- Softmax
//--------------------------------------------------------------===//

namespace {
struct SoftmaxCase {
  int64_t outer, count, inner;
  bool log;
};
class SoftmaxShapes : public testing::TestWithParam<SoftmaxCase> {};
} // namespace

TEST_P(SoftmaxShapes, MatchesADoubleReference) {
  SoftmaxCase c = GetParam();
  std::string type = tensor({c.outer, c.count, c.inner}, "f32");
  std::vector<float> x = randomFloats(c.outer * c.count * c.inner, -20, 20);
  KernelRun run =
      runGroup(groupText({type}, {type},
                         "%1 = pascaline.neg %0 : " + type +
                             "\n%2 = pascaline.softmax %1 {axis = 1 : i64" +
                             (c.log ? ", log" : "") + "} : " + type +
                             "\n%3 = pascaline.add %2, %2 : " + type + ", " +
                             type + "\npascaline.yield %3 : " + type),
               {bytesOf(x)});
  ASSERT_EQ(run.error, "") << run.ptx;
  EXPECT_EQ(run.ptx.find(".local"), std::string::npos);
  std::vector<float> y = valuesOf<float>(run.outputs[0]);
  for (int64_t o = 0; o < c.outer; ++o)
    for (int64_t i = 0; i < c.inner; ++i) {
      auto at = [&](int64_t k) { return (o * c.count + k) * c.inner + i; };
      double largest = -INFINITY, sum = 0;
      for (int64_t k = 0; k < c.count; ++k)
        largest = std::max(largest, -double(x[at(k)]));
      for (int64_t k = 0; k < c.count; ++k)
        sum += std::exp(-double(x[at(k)]) - largest);
      for (int64_t k = 0; k < c.count; ++k) {
        double shifted = -double(x[at(k)]) - largest;
        double expected =
            2 * (c.log ? shifted - std::log(sum) : std::exp(shifted) / sum);
        ASSERT_NEAR(y[at(k)], expected, 3e-6 * std::abs(expected) + 3e-7)
            << k << " " << run.configuration;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(All, SoftmaxShapes,
                         testing::Values(SoftmaxCase{3, 1, 1, false},
                                         SoftmaxCase{5, 10, 1, false},
                                         SoftmaxCase{300, 17, 1, true},
                                         SoftmaxCase{12, 128, 1, false},
                                         SoftmaxCase{9, 1000, 1, false},
                                         SoftmaxCase{2, 5000, 1, true},
                                         SoftmaxCase{3, 20011, 1, false},
                                         SoftmaxCase{700, 2500, 1, false},
                                         SoftmaxCase{2, 10, 37, false},
                                         SoftmaxCase{2, 100, 9, true}));
