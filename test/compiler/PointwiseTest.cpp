// Groups without anchor: broadcasting, views, types, several results.

#include "test/compiler/KernelHarness.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace pascaline::test;

static std::vector<float> runFloats(const std::string &text,
                                    const std::vector<Bytes> &inputs,
                                    KernelRun *keep = nullptr) {
  KernelRun run = runGroup(text, inputs);
  EXPECT_EQ(run.error, "") << run.ptx;
  if (keep)
    *keep = run;
  return run.outputs.empty() ? std::vector<float>()
                             : valuesOf<float>(run.outputs[0]);
}

TEST(Pointwise, MovesFourElementsAtATime) {
  std::vector<float> a = randomFloats(1024), b = randomFloats(1024, -2, 2, 2);
  KernelRun run;
  std::vector<float> y =
      runFloats(groupText({"tensor<2x512xf32>", "tensor<2x512xf32>"},
                          {"tensor<2x512xf32>"}, R"(
    %2 = pascaline.add %0, %1 : tensor<2x512xf32>, tensor<2x512xf32>
    %3 = pascaline.relu %2 : tensor<2x512xf32>
    pascaline.yield %3 : tensor<2x512xf32>)"),
                {bytesOf(a), bytesOf(b)}, &run);
  ASSERT_EQ(y.size(), a.size());
  for (size_t i = 0; i < y.size(); ++i)
    EXPECT_EQ(y[i], std::max(a[i] + b[i], 0.0f));
  EXPECT_NE(run.ptx.find("ld.global.nc.v4"), std::string::npos) << run.ptx;
  EXPECT_NE(run.ptx.find("st.global.v4"), std::string::npos);
  EXPECT_EQ(run.ptx.find(".local"), std::string::npos);
}

// Both results read both operands, and each lies where one of them was: all
// loads must come before the first store.
TEST(Pointwise, StoresResultsInOperandsPlaces) {
  std::vector<float> a = randomFloats(1001), b = randomFloats(1001, -2, 2, 2);
  std::string text = groupText({"tensor<7x143xf32>", "tensor<1001xf32>"},
                               {"tensor<1001xf32>", "tensor<1001xf32>"}, R"(
    %2 = pascaline.reshape %0 : tensor<7x143xf32> -> tensor<1001xf32>
    %3 = pascaline.sub %1, %2 : tensor<1001xf32>, tensor<1001xf32>
    %4 = pascaline.mul %1, %2 : tensor<1001xf32>, tensor<1001xf32>
    pascaline.yield %3, %4 : tensor<1001xf32>, tensor<1001xf32>)");
  KernelRun run = runGroup(text, {bytesOf(a), bytesOf(b)}, /*inPlace=*/true);
  ASSERT_EQ(run.error, "");
  std::vector<float> difference = valuesOf<float>(run.outputs[0]),
                     product = valuesOf<float>(run.outputs[1]);
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(difference[i], b[i] - a[i]);
    EXPECT_EQ(product[i], a[i] * b[i]);
  }
  // What may be written meanwhile must not be read as what never changes.
  EXPECT_EQ(run.ptx.find("ld.global.nc"), std::string::npos) << run.ptx;
}

// Another thread reads the element, or its bytes hold another number of them.
TEST(Pointwise, LeavesPlacesThatOthersRead) {
  std::vector<float> a = randomFloats(64);
  const char *const bodies[] = {R"(
    %1 = pascaline.slice %0 {starts = array<i64: 63>, steps = array<i64: -1>,
        sizes = array<i64: 64>} : tensor<64xf32>
    pascaline.yield %1 : tensor<64xf32>)",
                                R"(
    %1 = pascaline.cast %0 : tensor<64xf32> -> tensor<64xf16>
    pascaline.yield %1 : tensor<64xf16>)"};
  const char *const results[] = {"tensor<64xf32>", "tensor<64xf16>"};
  for (int i = 0; i < 2; ++i) {
    std::string text = groupText({"tensor<64xf32>"}, {results[i]}, bodies[i]);
    EXPECT_EQ(runGroup(text, {bytesOf(a)}, /*inPlace=*/true).error,
              "no result may lie in an operand's place");
    EXPECT_EQ(runGroup(text, {bytesOf(a)}).error, "");
  }
}

TEST(Pointwise, BroadcastsAChannelOverAnOddPlane) {
  // 7 x 7 planes: four neighbours may belong to two channels.
  std::vector<float> x = randomFloats(2 * 4 * 49), bias = randomFloats(4);
  std::vector<float> y =
      runFloats(groupText({"tensor<2x4x7x7xf32>", "tensor<4x1x1xf32>"},
                          {"tensor<2x4x7x7xf32>"}, R"(
    %2 = pascaline.mul %0, %1 : tensor<2x4x7x7xf32>, tensor<4x1x1xf32>
    pascaline.yield %2 : tensor<2x4x7x7xf32>)"),
                {bytesOf(x), bytesOf(bias)});
  ASSERT_EQ(y.size(), x.size());
  for (size_t i = 0; i < y.size(); ++i)
    EXPECT_EQ(y[i], x[i] * bias[i / 49 % 4]);
}

TEST(Pointwise, BroadcastsBothOperands) {
  std::vector<float> a = randomFloats(3 * 5), b = randomFloats(4 * 5);
  std::vector<float> y =
      runFloats(groupText({"tensor<3x1x5xf32>", "tensor<4x5xf32>"},
                          {"tensor<3x4x5xf32>"}, R"(
    %2 = pascaline.sub %0, %1 : tensor<3x1x5xf32>, tensor<4x5xf32>
    pascaline.yield %2 : tensor<3x4x5xf32>)"),
                {bytesOf(a), bytesOf(b)});
  ASSERT_EQ(y.size(), 60u);
  for (size_t i = 0; i < 60; ++i)
    EXPECT_EQ(y[i], a[i / 20 * 5 + i % 5] - b[i % 20]);
}

TEST(Pointwise, ReadsThroughViews) {
  // x[2,3,4] -> transpose [4,2,3] -> slice rows 3, 1 -> reshape [12].
  std::vector<float> x = randomFloats(24);
  std::vector<float> y =
      runFloats(groupText({"tensor<2x3x4xf32>"}, {"tensor<12xf32>"}, R"(
    %1 = pascaline.transpose %0 {perm = array<i64: 2, 0, 1>} : tensor<2x3x4xf32>
    %2 = pascaline.slice %1 {starts = array<i64: 3, 0, 0>,
        steps = array<i64: -2, 1, 1>, sizes = array<i64: 2, 2, 3>}
        : tensor<4x2x3xf32>
    %3 = pascaline.reshape %2 : tensor<2x2x3xf32> -> tensor<12xf32>
    %4 = pascaline.neg %3 : tensor<12xf32>
    pascaline.yield %4 : tensor<12xf32>)"),
                {bytesOf(x)});
  ASSERT_EQ(y.size(), 12u);
  for (int i = 0; i < 12; ++i) {
    int last = i / 6 == 0 ? 3 : 1;
    EXPECT_EQ(y[i], -x[i % 6 * 4 + last]);
  }
}

TEST(Pointwise, TransposesLargeMatrices) {
  std::vector<float> x = randomFloats(70 * 100);
  std::vector<float> y =
      runFloats(groupText({"tensor<70x100xf32>"}, {"tensor<100x70xf32>"}, R"(
    %1 = pascaline.transpose %0 {perm = array<i64: 1, 0>} : tensor<70x100xf32>
    pascaline.yield %1 : tensor<100x70xf32>)"),
                {bytesOf(x)});
  ASSERT_EQ(y.size(), x.size());
  for (int i = 0; i < 100; ++i)
    for (int j = 0; j < 70; ++j)
      ASSERT_EQ(y[i * 70 + j], x[j * 100 + i]);
}

TEST(Pointwise, WritesSeveralResultsOfSeveralTypes) {
  std::vector<float> x = randomFloats(96);
  KernelRun run = runGroup(
      groupText({"tensor<96xf32>"}, {"tensor<96xi1>", "tensor<96xi64>"}, R"(
    %1 = pascaline.constant dense<0.5> : tensor<f32>
    %2 = pascaline.compare gt %0, %1 : tensor<96xf32>, tensor<f32>
    %3 = pascaline.cast %0 : tensor<96xf32> -> tensor<96xi64>
    pascaline.yield %2, %3 : tensor<96xi1>, tensor<96xi64>)"),
      {bytesOf(x)});
  ASSERT_EQ(run.error, "") << run.ptx;
  std::vector<int8_t> above = valuesOf<int8_t>(run.outputs[0]);
  std::vector<int64_t> whole = valuesOf<int64_t>(run.outputs[1]);
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(above[i], x[i] > 0.5f);
    EXPECT_EQ(whole[i], int64_t(x[i]));
  }
}

TEST(Pointwise, StoresHalvesButComputesInFloat) {
  std::vector<uint16_t> x = {0x3c00, 0x4000, 0xc200, 0x7bff,
                             0x0001, 0x7e00, 0x7c00, 0x3555};
  KernelRun run;
  run = runGroup(groupText({"tensor<8xf16>"}, {"tensor<8xf16>"}, R"(
    %1 = pascaline.add %0, %0 : tensor<8xf16>, tensor<8xf16>
    pascaline.yield %1 : tensor<8xf16>)"),
                 {bytesOf(x)});
  ASSERT_EQ(run.error, "") << run.ptx;
  std::vector<uint16_t> y = valuesOf<uint16_t>(run.outputs[0]);
  EXPECT_GT(y[5] & 0x7fff, 0x7c00); // some NaN
  y[5] = 0;
  EXPECT_EQ(y, (std::vector<uint16_t>{0x4000, 0x4400, 0xc600, 0x7c00, 0x0002, 0,
                                      0x7c00, 0x3955}));
  EXPECT_EQ(run.ptx.find("add.f16"), std::string::npos);
  EXPECT_EQ(run.ptx.find("add.rn.f16"), std::string::npos);
  EXPECT_NE(run.ptx.find("ld.global.v4"), std::string::npos) << run.ptx;
}

TEST(Pointwise, RoundsToBfloat16) {
  std::vector<float> x = {1.0f, 1.00390625f, 1.01171875f, -3.1415927f,
                          NAN,  INFINITY,    1e-40f,      3.4e38f};
  KernelRun run = runGroup(groupText({"tensor<8xf32>"}, {"tensor<8xbf16>"}, R"(
    %1 = pascaline.cast %0 : tensor<8xf32> -> tensor<8xbf16>
    pascaline.yield %1 : tensor<8xbf16>)"),
                           {bytesOf(x)});
  ASSERT_EQ(run.error, "") << run.ptx;
  std::vector<uint16_t> y = valuesOf<uint16_t>(run.outputs[0]);
  // 1.00390625 lies between two, and the even one is below.
  std::vector<uint16_t> expected = {0x3f80, 0x3f80, 0x3f82, 0xc049,
                                    0x7fc0, 0x7f80, 0x0001, 0x7f80};
  for (int i = 0; i < 8; ++i) {
    if (i == 4)
      EXPECT_TRUE((y[i] & 0x7f80) == 0x7f80 && (y[i] & 0x7f));
    else
      EXPECT_EQ(y[i], expected[i]) << i;
  }
}

TEST(Pointwise, KeepsIntegersExact) {
  std::vector<int64_t> a = {7, -7, 1LL << 62, INT64_MIN, 5, -9, 0, 3};
  std::vector<int64_t> b = {2, 2, 3, -1, 0, 4, 5, -3};
  KernelRun run =
      runGroup(groupText({"tensor<8xi64>", "tensor<8xi64>"}, {"tensor<8xi64>"},
                         R"(
    %2 = pascaline.div %0, %1 : tensor<8xi64>, tensor<8xi64>
    pascaline.yield %2 : tensor<8xi64>)"),
               {bytesOf(a), bytesOf(b)});
  ASSERT_EQ(run.error, "") << run.ptx;
  EXPECT_EQ(
      valuesOf<int64_t>(run.outputs[0]),
      (std::vector<int64_t>{3, -3, (1LL << 62) / 3, INT64_MIN, 0, -2, 0, -1}));
}

TEST(Epilogue, RefusesElementsOfTwoPlaces) {
  KernelRun run =
      compileGroup(groupText({"tensor<4x4xf32>"}, {"tensor<4x4xf32>"}, R"(
    %1 = pascaline.softmax %0 {axis = 1 : i64} : tensor<4x4xf32>
    %2 = pascaline.transpose %1 {perm = array<i64: 1, 0>} : tensor<4x4xf32>
    %3 = pascaline.add %1, %2 : tensor<4x4xf32>, tensor<4x4xf32>
    pascaline.yield %3 : tensor<4x4xf32>)"));
  EXPECT_EQ(run.error,
            "generate: pascaline.add combines elements of its group's anchor "
            "from different places, so it cannot follow it in one kernel");
}

TEST(Epilogue, FollowsViewsForward) {
  // The result is stored transposed, with a bias in its new shape.
  std::vector<float> x = randomFloats(6 * 8), bias = randomFloats(6);
  KernelRun run = runGroup(groupText({"tensor<6x8xf32>", "tensor<3x2xf32>"},
                                     {"tensor<8x3x2xf32>"}, R"(
    %2 = pascaline.softmax %0 {axis = 1 : i64} : tensor<6x8xf32>
    %3 = pascaline.transpose %2 {perm = array<i64: 1, 0>} : tensor<6x8xf32>
    %4 = pascaline.reshape %3 : tensor<8x6xf32> -> tensor<8x3x2xf32>
    %5 = pascaline.add %4, %1 : tensor<8x3x2xf32>, tensor<3x2xf32>
    pascaline.yield %5 : tensor<8x3x2xf32>)"),
                           {bytesOf(x), bytesOf(bias)});
  ASSERT_EQ(run.error, "") << run.ptx;
  std::vector<float> y = valuesOf<float>(run.outputs[0]);
  for (int row = 0; row < 6; ++row) {
    double sum = 0;
    for (int i = 0; i < 8; ++i)
      sum += std::exp(double(x[row * 8 + i]));
    for (int i = 0; i < 8; ++i)
      EXPECT_NEAR(y[i * 6 + row],
                  std::exp(double(x[row * 8 + i])) / sum + bias[row], 1e-6);
  }
}
