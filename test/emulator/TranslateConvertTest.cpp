// cvt: every rounding, saturation and special value.
#include "test/emulator/TranslateTest.h"

#include <cfenv>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace pascaline::emulator::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(TranslateConvert, IntegersExtendAndTruncate) {
  EXPECT_EQ(evaluate<int64_t>("cvt.s64.s32 %d, %a;", -5), -5);
  EXPECT_EQ(evaluate<uint64_t>("cvt.u64.u32 %d, %a;", 0xfffffffbu),
            0xfffffffbull);
  EXPECT_EQ(evaluate<uint32_t>("cvt.u32.u64 %d, %a;", 0x123456789ull),
            0x23456789u);
  EXPECT_EQ(evaluate<int32_t>("cvt.s32.s8 %d, %a;", 0x1234ff80u), -128);
  EXPECT_EQ(evaluate<int32_t>("cvt.s32.s16 %d, %a;", uint16_t(0x8000)), -32768);
  // A destination wider than the type: filled as the type says.
  EXPECT_EQ(evaluate<int32_t>("cvt.s8.s32 %d, %a;", 0x1ff), -1);
  EXPECT_EQ(evaluate<uint32_t>("cvt.u8.u32 %d, %a;", 0x1ffu), 0xffu);
}

TEST(TranslateConvert, IntegersSaturateWhereTold) {
  EXPECT_EQ(evaluate<int32_t>("cvt.sat.s8.s32 %d, %a;", 300), 127);
  EXPECT_EQ(evaluate<int32_t>("cvt.sat.s8.s32 %d, %a;", -300), -128);
  EXPECT_EQ(evaluate<uint32_t>("cvt.sat.u8.s32 %d, %a;", -300), 0u);
  EXPECT_EQ(evaluate<uint32_t>("cvt.sat.u8.s32 %d, %a;", 256), 255u);
  EXPECT_EQ(evaluate<int32_t>("cvt.sat.s32.u32 %d, %a;", 0xffffffffu),
            0x7fffffff);
  EXPECT_EQ(evaluate<uint64_t>("cvt.sat.u64.s64 %d, %a;", int64_t(-1)), 0u);
}

TEST(TranslateConvert, FloatsToIntegersRoundAndSaturate) {
  const float values[] = {0.0f,  0.5f,  1.5f,   2.5f,  -0.5f, -1.5f, 0.7f,
                          -0.7f, 1e10f, -1e10f, 1e20f, kInf,  -kInf, 1e-40f};
  for (float a : values) {
    auto clamp = [](double x, double low, double high) {
      return std::min(std::max(x, low), high);
    };
    double nearest = std::nearbyint(double(a));
    EXPECT_EQ(evaluate<int32_t>("cvt.rni.s32.f32 %d, %a;", a),
              int32_t(clamp(nearest, -2147483648.0, 2147483647.0)));
    EXPECT_EQ(evaluate<int32_t>("cvt.rzi.s32.f32 %d, %a;", a),
              int32_t(clamp(std::trunc(a), -2147483648.0, 2147483647.0)));
    EXPECT_EQ(evaluate<int32_t>("cvt.rmi.s32.f32 %d, %a;", a),
              int32_t(clamp(std::floor(a), -2147483648.0, 2147483647.0)));
    EXPECT_EQ(evaluate<uint32_t>("cvt.rpi.u32.f32 %d, %a;", a),
              uint32_t(clamp(std::ceil(a), 0, 4294967295.0)));
    EXPECT_EQ(evaluate<int32_t>("cvt.rzi.s8.f32 %d, %a;", a),
              int32_t(clamp(std::trunc(a), -128, 127)));
  }
  EXPECT_EQ(evaluate<int64_t>("cvt.rzi.s64.f32 %d, %a;", 1e30f),
            std::numeric_limits<int64_t>::max());
  EXPECT_EQ(evaluate<int32_t>("cvt.rpi.ftz.s32.f32 %d, %a;", 1e-40f), 0);
}

TEST(TranslateConvert, NanBecomesZeroOrTheLeastNumber) {
  EXPECT_EQ(evaluate<int32_t>("cvt.rzi.s32.f32 %d, %a;", kNan), 0);
  EXPECT_EQ(evaluate<uint64_t>("cvt.rzi.s64.f32 %d, %a;", kNan), 1ull << 63);
  EXPECT_EQ(evaluate<uint32_t>("cvt.rzi.u32.f64 %d, %a;", double(kNan)),
            1u << 31);
}

TEST(TranslateConvert, IntegersToFloatsRoundAsTold) {
  for (int32_t a : {0, 1, -1, 16777217, -16777217, 2147483647}) {
    EXPECT_EQ(evaluate<float>("cvt.rn.f32.s32 %d, %a;", a), float(a));
    EXPECT_EQ(evaluate<float>("cvt.rn.f32.u32 %d, %a;", a), float(uint32_t(a)));
    EXPECT_EQ(evaluate<double>("cvt.rn.f64.s32 %d, %a;", a), double(a));
    EXPECT_LE(evaluate<float>("cvt.rm.f32.s32 %d, %a;", a), double(a));
    EXPECT_GE(evaluate<float>("cvt.rp.f32.s32 %d, %a;", a), double(a));
  }
  EXPECT_EQ(evaluate<float>("cvt.rz.f32.u64 %d, %a;", ~0ull), 0x1.fffffep63f);
  EXPECT_EQ(evaluate<float>("cvt.rn.f32.u64 %d, %a;", ~0ull), 0x1p64f);
  EXPECT_EQ(evaluate<float>("cvt.rn.sat.f32.s32 %d, %a;", 7), 1.0f);
  EXPECT_EQ(evaluate<uint16_t>("cvt.rn.f16.s32 %d, %a;", 2049), 0x6800);
  EXPECT_EQ(evaluate<uint16_t>("cvt.rn.f16.s32 %d, %a;", 70000), 0x7c00);
}

TEST(TranslateConvert, FloatsNarrow) {
  const double values[] = {0.1, -0.1, 1e300, -1e300, 1e-320, 16777217.0};
  const struct {
    const char *name;
    int mode;
  } modes[] = {{"rn", FE_TONEAREST},
               {"rz", FE_TOWARDZERO},
               {"rm", FE_DOWNWARD},
               {"rp", FE_UPWARD}};
  for (auto [name, mode] : modes)
    for (double a : values) {
      volatile double x = a;
      std::fesetround(mode);
      volatile float want = float(x);
      std::fesetround(FE_TONEAREST);
      EXPECT_EQ(
          evaluate<float>(std::string("cvt.") + name + ".f32.f64 %d, %a;", a),
          want)
          << name << a;
    }
  EXPECT_EQ(evaluate<float>("cvt.rn.ftz.f32.f64 %d, %a;", 1e-40), 0.0f);
  EXPECT_EQ(evaluate<double>("cvt.f64.f32 %d, %a;", 0.1f), double(0.1f));
}

TEST(TranslateConvert, HalvesRoundInEveryDirection) {
  const struct {
    double value;
    uint16_t rn, rz, rm, rp;
  } cases[] = {
      {1.0, 0x3c00, 0x3c00, 0x3c00, 0x3c00},
      {1.0 + 0x1p-11, 0x3c00, 0x3c00, 0x3c00, 0x3c01},
      {1.0 + 0x1.8p-10, 0x3c02, 0x3c01, 0x3c01, 0x3c02},
      {-1.0 - 0x1p-11, 0xbc00, 0xbc00, 0xbc01, 0xbc00},
      {65519.0, 0x7bff, 0x7bff, 0x7bff, 0x7c00},
      {65520.0, 0x7c00, 0x7bff, 0x7bff, 0x7c00},
      {-1e30, 0xfc00, 0xfbff, 0xfc00, 0xfbff},
      {0x1p-25, 0x0000, 0x0000, 0x0000, 0x0001},
      {0x1.8p-25, 0x0001, 0x0000, 0x0000, 0x0001},
      {-0x1p-60, 0x8000, 0x8000, 0x8001, 0x8000},
      {0x1.ffep-15, 0x0400, 0x03ff, 0x03ff, 0x0400},
      {0x1p-14, 0x0400, 0x0400, 0x0400, 0x0400},
      {double(kInf), 0x7c00, 0x7c00, 0x7c00, 0x7c00},
  };
  for (const auto &each : cases) {
    SCOPED_TRACE(each.value);
    float narrow = float(each.value);
    EXPECT_EQ(evaluate<uint16_t>("cvt.rn.f16.f32 %d, %a;", narrow), each.rn);
    EXPECT_EQ(evaluate<uint16_t>("cvt.rn.f16.f64 %d, %a;", each.value),
              each.rn);
    EXPECT_EQ(evaluate<uint16_t>("cvt.rz.f16.f32 %d, %a;", narrow), each.rz);
    EXPECT_EQ(evaluate<uint16_t>("cvt.rm.f16.f32 %d, %a;", narrow), each.rm);
    EXPECT_EQ(evaluate<uint16_t>("cvt.rp.f16.f64 %d, %a;", each.value),
              each.rp);
  }
  // Every half survives the way to float and back.
  for (uint32_t bits = 0; bits < 0x7c01; bits += 7) {
    float wide = evaluate<float>("cvt.f32.f16 %d, %a;", uint16_t(bits));
    EXPECT_EQ(evaluate<uint16_t>("cvt.rn.f16.f32 %d, %a;", wide), bits);
  }
}

TEST(TranslateConvert, RoundsFloatsToIntegralValues) {
  EXPECT_EQ(evaluate<float>("cvt.rni.f32.f32 %d, %a;", 2.5f), 2.0f);
  EXPECT_EQ(evaluate<float>("cvt.rzi.f32.f32 %d, %a;", -2.7f), -2.0f);
  EXPECT_EQ(evaluate<float>("cvt.rmi.f32.f32 %d, %a;", -2.1f), -3.0f);
  EXPECT_EQ(evaluate<float>("cvt.rpi.f32.f32 %d, %a;", 2.1f), 3.0f);
  EXPECT_EQ(evaluate<float>("cvt.sat.f32.f32 %d, %a;", 2.1f), 1.0f);
}

} // namespace
} // namespace pascaline::emulator::test
