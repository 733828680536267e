// Concat, pad and gather, with prologues and epilogues.

#include "test/compiler/KernelHarness.h"

#include <gtest/gtest.h>

using namespace pascaline::test;

TEST(Concat, JoinsUnequalPiecesInOneLaunch) {
  // Along the middle axis; the second piece's rows are odd, the third empty.
  std::vector<float> a = randomFloats(3 * 4 * 5), b = randomFloats(3 * 1 * 5),
                     d = randomFloats(3 * 600 * 5);
  KernelRun run = runGroup(
      groupText({"tensor<3x4x5xf32>", "tensor<3x1x5xf32>", "tensor<3x0x5xf32>",
                 "tensor<3x600x5xf32>", "tensor<605x1xf32>"},
                {"tensor<3x605x5xf32>"}, R"(
    %5 = pascaline.neg %1 : tensor<3x1x5xf32>
    %6 = pascaline.concat %0, %5, %2, %3 {axis = 1 : i64} : tensor<3x4x5xf32>,
        tensor<3x1x5xf32>, tensor<3x0x5xf32>, tensor<3x600x5xf32>
    %7 = pascaline.add %6, %4 : tensor<3x605x5xf32>, tensor<605x1xf32>
    pascaline.yield %7 : tensor<3x605x5xf32>)"),
      {bytesOf(a), bytesOf(b), Bytes(), bytesOf(d),
       bytesOf(randomFloats(605, 0, 1, 7))});
  ASSERT_EQ(run.error, "") << run.ptx;
  std::vector<float> y = valuesOf<float>(run.outputs[0]);
  std::vector<float> bias = randomFloats(605, 0, 1, 7);
  for (int n = 0; n < 3; ++n)
    for (int r = 0; r < 605; ++r)
      for (int i = 0; i < 5; ++i) {
        float x = r < 4    ? a[(n * 4 + r) * 5 + i]
                  : r == 4 ? -b[n * 5 + i]
                           : d[(n * 600 + r - 5) * 5 + i];
        ASSERT_EQ(y[(n * 605 + r) * 5 + i], x + bias[r]) << r;
      }
}

TEST(Concat, CopiesAlignedChannels128BitsAtATime) {
  std::vector<float> a = randomFloats(2 * 8 * 16), b = randomFloats(2 * 4 * 16);
  KernelRun run =
      runGroup(groupText({"tensor<2x8x16xf32>", "tensor<2x4x16xf32>"},
                         {"tensor<2x12x16xf32>"}, R"(
    %2 = pascaline.concat %0, %1 {axis = 1 : i64}
        : tensor<2x8x16xf32>, tensor<2x4x16xf32>
    pascaline.yield %2 : tensor<2x12x16xf32>)"),
               {bytesOf(a), bytesOf(b)});
  ASSERT_EQ(run.error, "") << run.ptx;
  EXPECT_NE(run.ptx.find("ld.global.nc.v4"), std::string::npos) << run.ptx;
  EXPECT_NE(run.ptx.find("st.global.v4"), std::string::npos);
  std::vector<float> y = valuesOf<float>(run.outputs[0]);
  for (int i = 0; i < 2 * 12 * 16; ++i) {
    int n = i / 192, rest = i % 192;
    ASSERT_EQ(y[i], rest < 128 ? a[n * 128 + rest] : b[n * 64 + rest - 128]);
  }
}

static int sourceOf(const std::string &mode, int i, int n) {
  if (i >= 0 && i < n)
    return i;
  if (mode == "edge")
    return i < 0 ? 0 : n - 1;
  if (mode == "wrap")
    return (i % n + n) % n;
  if (mode == "reflect") {
    int period = 2 * (n - 1), phase = (i % period + period) % period;
    return phase < n ? phase : period - phase;
  }
  return -1;
}

TEST(Pad, FollowsItsFourModes) {
  std::vector<float> x = randomFloats(2 * 5 * 6);
  for (std::string mode : {"constant", "edge", "reflect", "wrap"}) {
    KernelRun run = runGroup(groupText({"tensor<2x5x6xf32>", "tensor<f32>"},
                                       {"tensor<2x9x11xf32>"},
                                       "%2 = pascaline.pad " + mode + R"( %0, %1
        {low = array<i64: 0, 3, 2>, high = array<i64: 0, 1, 3>}
        : tensor<2x5x6xf32>, tensor<f32>
    %3 = pascaline.neg %2 : tensor<2x9x11xf32>
    pascaline.yield %3 : tensor<2x9x11xf32>)"),
                             {bytesOf(x), bytesOf(std::vector<float>{9})});
    ASSERT_EQ(run.error, "") << run.ptx;
    std::vector<float> y = valuesOf<float>(run.outputs[0]);
    for (int n = 0; n < 2; ++n)
      for (int h = 0; h < 9; ++h)
        for (int w = 0; w < 11; ++w) {
          int from = sourceOf(mode, h - 3, 5), at = sourceOf(mode, w - 2, 6);
          float expected = from < 0 || at < 0 ? 9 : x[(n * 5 + from) * 6 + at];
          ASSERT_EQ(y[(n * 9 + h) * 11 + w], -expected)
              << mode << " " << h << " " << w;
        }
  }
}

TEST(Pad, FillsWhatHasNoElements) {
  KernelRun run =
      runGroup(groupText({"tensor<2x0xi32>"}, {"tensor<2x3xi32>"}, R"(
    %1 = pascaline.constant dense<7> : tensor<i32>
    %2 = pascaline.pad constant %0, %1 {low = array<i64: 0, 1>,
        high = array<i64: 0, 2>} : tensor<2x0xi32>, tensor<i32>
    pascaline.yield %2 : tensor<2x3xi32>)"),
               {Bytes()});
  ASSERT_EQ(run.error, "") << run.ptx;
  EXPECT_EQ(valuesOf<int32_t>(run.outputs[0]), std::vector<int32_t>(6, 7));
}

TEST(Gather, CountsFromTheEndAndClamps) {
  std::vector<float> x = randomFloats(2 * 6 * 8);
  std::vector<int64_t> at = {0, 5, -1, -6, 6, -7, 1LL << 40, INT64_MIN, 3};
  KernelRun run = runGroup(groupText({"tensor<2x6x8xf32>", "tensor<3x3xi64>"},
                                     {"tensor<2x3x3x8xf32>"}, R"(
    %2 = pascaline.gather %0, %1 {axis = 1 : i64}
        : tensor<2x6x8xf32>, tensor<3x3xi64>
    pascaline.yield %2 : tensor<2x3x3x8xf32>)"),
                           {bytesOf(x), bytesOf(at)});
  ASSERT_EQ(run.error, "") << run.ptx;
  EXPECT_NE(run.ptx.find("ld.global.nc.v4"), std::string::npos) << run.ptx;
  int rows[] = {0, 5, 5, 0, 5, 0, 5, 0, 3};
  std::vector<float> y = valuesOf<float>(run.outputs[0]);
  for (int n = 0; n < 2; ++n)
    for (int j = 0; j < 9; ++j)
      for (int i = 0; i < 8; ++i)
        ASSERT_EQ(y[(n * 9 + j) * 8 + i], x[(n * 6 + rows[j]) * 8 + i]) << j;
}

TEST(Gather, TakesComputedIndicesFromAView) {
  // The table is read transposed, the indices are doubled, the axis is last.
  std::vector<float> x = randomFloats(7 * 3);
  std::vector<int32_t> at = {0, 1, 3};
  KernelRun run = runGroup(
      groupText({"tensor<7x3xf32>", "tensor<3xi32>"}, {"tensor<3x3xf32>"}, R"(
    %2 = pascaline.transpose %0 {perm = array<i64: 1, 0>} : tensor<7x3xf32>
    %3 = pascaline.add %1, %1 : tensor<3xi32>, tensor<3xi32>
    %4 = pascaline.gather %2, %3 {axis = 1 : i64}
        : tensor<3x7xf32>, tensor<3xi32>
    %5 = pascaline.relu %4 : tensor<3x3xf32>
    pascaline.yield %5 : tensor<3x3xf32>)"),
      {bytesOf(x), bytesOf(at)});
  ASSERT_EQ(run.error, "") << run.ptx;
  std::vector<float> y = valuesOf<float>(run.outputs[0]);
  for (int r = 0; r < 3; ++r)
    for (int j = 0; j < 3; ++j)
      EXPECT_EQ(y[r * 3 + j], std::max(x[2 * at[j] * 3 + r], 0.0f));
}

TEST(Transpose, GoesThroughTilesWithPrologueAndEpilogue) {
  // x[2,40,3,50] -> y[2,50,3,40]: edges of both sides, another dimension
  // between.
  std::vector<float> x = randomFloats(2 * 40 * 3 * 50), bias = randomFloats(40);
  KernelRun run =
      runGroup(groupText({"tensor<2x40x3x50xf32>", "tensor<40xf32>"},
                         {"tensor<2x50x120xf32>"}, R"(
    %2 = pascaline.relu %0 : tensor<2x40x3x50xf32>
    %3 = pascaline.transpose %2 {perm = array<i64: 0, 3, 2, 1>}
        : tensor<2x40x3x50xf32>
    %4 = pascaline.add %3, %1 : tensor<2x50x3x40xf32>, tensor<40xf32>
    %5 = pascaline.reshape %4 : tensor<2x50x3x40xf32> -> tensor<2x50x120xf32>
    pascaline.yield %5 : tensor<2x50x120xf32>)"),
               {bytesOf(x), bytesOf(bias)});
  ASSERT_EQ(run.error, "") << run.ptx;
  EXPECT_EQ(run.configuration, "tiles of 32x32");
  EXPECT_EQ(run.ptx.find(".local"), std::string::npos);
  std::vector<float> y = valuesOf<float>(run.outputs[0]);
  for (int n = 0; n < 2; ++n)
    for (int i = 0; i < 50; ++i)
      for (int k = 0; k < 3; ++k)
        for (int j = 0; j < 40; ++j)
          ASSERT_EQ(y[((n * 50 + i) * 3 + k) * 40 + j],
                    std::max(x[((n * 40 + j) * 3 + k) * 50 + i], 0.0f) +
                        bias[j]);
}

TEST(Transpose, MovesEveryWidth) {
  std::vector<uint8_t> bytes(64 * 96);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = i * 7 % 2;
  std::vector<int64_t> wide(64 * 96);
  for (size_t i = 0; i < wide.size(); ++i)
    wide[i] = int64_t(i) << 33;
  auto text = [](const std::string &element) {
    return groupText(
        {"tensor<64x96x" + element + ">"}, {"tensor<96x64x" + element + ">"},
        "%1 = pascaline.transpose %0 {perm = array<i64: 1, 0>} : "
        "tensor<64x96x" +
            element + ">\npascaline.yield %1 : tensor<96x64x" + element + ">");
  };
  KernelRun run = runGroup(text("i1"), {bytesOf(bytes)});
  ASSERT_EQ(run.error, "") << run.ptx;
  std::vector<uint8_t> y = valuesOf<uint8_t>(run.outputs[0]);
  KernelRun wideRun = runGroup(text("i64"), {bytesOf(wide)});
  ASSERT_EQ(wideRun.error, "") << wideRun.ptx;
  std::vector<int64_t> z = valuesOf<int64_t>(wideRun.outputs[0]);
  for (int i = 0; i < 96; ++i)
    for (int j = 0; j < 64; ++j) {
      ASSERT_EQ(y[i * 64 + j], bytes[j * 96 + i]);
      ASSERT_EQ(z[i * 64 + j], wide[j * 96 + i]);
    }
}
