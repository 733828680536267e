// Floating-point arithmetic against values computed here, over edge cases.
#include "test/emulator/TranslateTest.h"

#include <cfenv>
#include <cfloat>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace pascaline::emulator::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kTiny = 1e-40f; // subnormal

const float kFloats[] = {0.0f,    -0.0f,   1.0f,        -1.0f,       0.1f,
                         -3.75f,  1e30f,   -1e30f,      kTiny,       -kTiny,
                         FLT_MIN, FLT_MAX, FLT_MIN / 2, kInf,        -kInf,
                         kNan,    3e38f,   16777217.0f, 0.333333343f};

// Same bits, or both NaN.
::testing::AssertionResult same(float got, float want) {
  if (std::isnan(got) && std::isnan(want))
    return ::testing::AssertionSuccess();
  if (toBits(got) == toBits(want))
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << std::hexfloat << got << " is not " << want;
}

float flushed(float x) {
  return std::fabs(x) < FLT_MIN ? std::copysign(0.0f, x) : x;
}

// volatile keeps the compiler from contracting or folding.
float product(float a, float b) {
  volatile float result = a * b;
  return result;
}

TEST(TranslateFloat, BasicOperationsRoundToNearest) {
  for (float a : kFloats)
    for (float b : kFloats) {
      SCOPED_TRACE(std::to_string(a) + " " + std::to_string(b));
      EXPECT_TRUE(same(evaluate<float>("add.f32 %d, %a, %b;", a, b), a + b));
      EXPECT_TRUE(same(evaluate<float>("sub.rn.f32 %d, %a, %b;", a, b), a - b));
      EXPECT_TRUE(
          same(evaluate<float>("mul.f32 %d, %a, %b;", a, b), product(a, b)));
      EXPECT_TRUE(same(evaluate<float>("div.rn.f32 %d, %a, %b;", a, b), a / b));
      EXPECT_TRUE(
          same(evaluate<float>("fma.rn.f32 %d, %a, %b, %c;", a, b, 0.1f),
               std::fma(a, b, 0.1f)));
      EXPECT_EQ(evaluate<double>("add.f64 %d, %a, %b;", double(a), double(b)) ==
                    double(a) + double(b),
                !std::isnan(a + b));
    }
}

TEST(TranslateFloat, MultiplyThenAddIsNotContracted) {
  float a = 1.0f + FLT_EPSILON, c = -(1.0f + 2 * FLT_EPSILON);
  ASSERT_NE(std::fma(a, a, c), product(a, a) + c);
  EXPECT_EQ(evaluate<float>("mul.f32 %d, %a, %b; add.f32 %d, %d, %c;", a, a, c),
            product(a, a) + c);
  EXPECT_EQ(
      evaluate<float>("mul.rn.f32 %d, %a, %b; add.rn.f32 %d, %d, %c;", a, a, c),
      product(a, a) + c);
  EXPECT_EQ(evaluate<float>("mad.rn.f32 %d, %a, %b, %c;", a, a, c),
            std::fma(a, a, c));
}

TEST(TranslateFloat, FlushesSubnormalsWhereTold) {
  for (float a : kFloats)
    for (float b : kFloats) {
      EXPECT_TRUE(same(evaluate<float>("add.ftz.f32 %d, %a, %b;", a, b),
                       flushed(flushed(a) + flushed(b))));
      EXPECT_TRUE(same(evaluate<float>("mul.ftz.f32 %d, %a, %b;", a, b),
                       flushed(product(flushed(a), flushed(b)))));
    }
  EXPECT_TRUE(same(evaluate<float>("add.f32 %d, %a, %b;", kTiny, 0.0f), kTiny));
  EXPECT_TRUE(same(evaluate<float>("neg.ftz.f32 %d, %a;", kTiny), -0.0f));
}

TEST(TranslateFloat, SaturatesToUnitRange) {
  EXPECT_EQ(evaluate<float>("add.sat.f32 %d, %a, %b;", 0.75f, 0.5f), 1.0f);
  EXPECT_EQ(evaluate<float>("mul.sat.f32 %d, %a, %b;", -2.0f, 0.5f), 0.0f);
  EXPECT_EQ(evaluate<float>("fma.rn.sat.f32 %d, %a, %a, %b;", 0.5f, 0.25f),
            0.5f);
  EXPECT_TRUE(
      same(evaluate<float>("add.sat.f32 %d, %a, %b;", kNan, 1.0f), 0.0f));
}

TEST(TranslateFloat, DirectedRounding) {
  const struct {
    const char *name;
    int mode;
  } modes[] = {{"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};
  for (auto [name, mode] : modes)
    for (float a : kFloats)
      for (float b : kFloats) {
        volatile float x = a, y = b, z = 0.1f;
        volatile double u = a, v = 0.1;
        std::fesetround(mode);
        volatile float sum = x + y, difference = x - y, quotient = x / y;
        volatile float scaled = x * y, fused = std::fma(x, y, z);
        volatile double wide = u * v;
        std::fesetround(FE_TONEAREST);
        auto text = [&, rounding = name](std::string before,
                                         std::string after) {
          return before + "." + rounding + "." + after;
        };
        EXPECT_TRUE(
            same(evaluate<float>(text("add", "f32 %d, %a, %b;"), a, b), sum));
        EXPECT_TRUE(same(evaluate<float>(text("sub", "f32 %d, %a, %b;"), a, b),
                         difference));
        EXPECT_TRUE(same(evaluate<float>(text("div", "f32 %d, %a, %b;"), a, b),
                         quotient));
        EXPECT_TRUE(same(evaluate<float>(text("mul", "f32 %d, %a, %b;"), a, b),
                         scaled));
        EXPECT_TRUE(same(
            evaluate<float>(text("fma", "f32 %d, %a, %b, %c;"), a, b, 0.1f),
            fused));
        if (!std::isnan(wide)) {
          EXPECT_EQ(
              evaluate<double>(text("mul", "f64 %d, %a, %b;"), double(a), 0.1),
              wide);
        }
      }
}

TEST(TranslateFloat, MinMaxDropNanAndOrderZeros) {
  for (float a : kFloats)
    for (float b : kFloats) {
      float least = std::isnan(a)   ? b
                    : std::isnan(b) ? a
                    : a == b        ? (std::signbit(a) ? a : b)
                                    : std::min(a, b);
      float most = std::isnan(a)   ? b
                   : std::isnan(b) ? a
                   : a == b        ? (std::signbit(a) ? b : a)
                                   : std::max(a, b);
      EXPECT_TRUE(same(evaluate<float>("min.f32 %d, %a, %b;", a, b), least));
      EXPECT_TRUE(same(evaluate<float>("max.f32 %d, %a, %b;", a, b), most));
      EXPECT_TRUE(same(evaluate<float>("max.ftz.f32 %d, %a, 0f00000000;", a),
                       std::isnan(a) || a <= 0 ? 0.0f : flushed(a)));
      EXPECT_TRUE(same(
          float(evaluate<double>("min.f64 %d, %a, %b;", double(a), double(b))),
          least));
    }
}

TEST(TranslateFloat, AbsoluteNegateCopySign) {
  for (float a : kFloats) {
    EXPECT_EQ(evaluate<uint32_t>("{ .reg .f32 %x; abs.f32 %x, %a;"
                                 "mov.b32 %d, %x; }",
                                 a),
              uint32_t(toBits(std::fabs(a))));
    EXPECT_TRUE(same(evaluate<float>("neg.f32 %d, %a;", a), -a));
    // copysign d, a, b: b with the sign of a
    EXPECT_TRUE(same(evaluate<float>("copysign.f32 %d, %a, %b;", -1.0f, a),
                     std::copysign(a, -1.0f)));
  }
}

TEST(TranslateFloat, TestProperties) {
  for (float a : kFloats) {
    EXPECT_EQ(evaluate<bool>("testp.finite.f32 %d, %a;", a), std::isfinite(a));
    EXPECT_EQ(evaluate<bool>("testp.infinite.f32 %d, %a;", a), std::isinf(a));
    EXPECT_EQ(evaluate<bool>("testp.number.f32 %d, %a;", a), !std::isnan(a));
    EXPECT_EQ(evaluate<bool>("testp.notanumber.f32 %d, %a;", a), std::isnan(a));
    EXPECT_EQ(evaluate<bool>("testp.normal.f32 %d, %a;", a), std::isnormal(a));
    EXPECT_EQ(evaluate<bool>("testp.subnormal.f32 %d, %a;", a),
              std::fpclassify(a) == FP_SUBNORMAL);
  }
}

// |got - want| within `ulps` of want, special values exactly.
::testing::AssertionResult close(float got, double want, double relative,
                                 double absolute = 0) {
  if (std::isnan(want) || std::isinf(float(want)) || want == 0)
    return same(got, float(want));
  if (std::fabs(got - want) <= std::fabs(want) * relative + absolute)
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << got << " is not near " << want;
}

TEST(TranslateFloat, ApproximationsStayWithinStatedError) {
  for (float a : kFloats) {
    SCOPED_TRACE(a);
    EXPECT_TRUE(close(evaluate<float>("rcp.approx.f32 %d, %a;", a),
                      1.0 / double(a), 0x1p-23));
    EXPECT_TRUE(same(evaluate<float>("rcp.rn.f32 %d, %a;", a), 1.0f / a));
    EXPECT_TRUE(same(evaluate<float>("sqrt.rn.f32 %d, %a;", a), std::sqrt(a)));
    EXPECT_TRUE(close(evaluate<float>("sqrt.approx.f32 %d, %a;", a),
                      std::sqrt(double(a)), 0x1p-23));
    EXPECT_TRUE(close(evaluate<float>("rsqrt.approx.f32 %d, %a;", a),
                      1 / std::sqrt(double(a)), 0x1p-22));
    EXPECT_TRUE(close(evaluate<float>("ex2.approx.f32 %d, %a;", a),
                      std::exp2(double(a)), 0x1p-22));
    EXPECT_TRUE(close(evaluate<float>("lg2.approx.f32 %d, %a;", a),
                      std::log2(double(a)), 0x1p-22));
    if (std::fabs(a) < 100) {
      EXPECT_TRUE(close(evaluate<float>("sin.approx.f32 %d, %a;", a),
                        std::sin(double(a)), 0x1p-22, 0x1p-20));
      EXPECT_TRUE(close(evaluate<float>("cos.approx.f32 %d, %a;", a),
                        std::cos(double(a)), 0x1p-22, 0x1p-20));
    }
  }
  // .ftz: a subnormal argument is a zero.
  EXPECT_EQ(evaluate<float>("rcp.approx.ftz.f32 %d, %a;", kTiny), kInf);
  EXPECT_EQ(evaluate<float>("lg2.approx.ftz.f32 %d, %a;", kTiny), -kInf);
  EXPECT_EQ(evaluate<float>("ex2.approx.ftz.f32 %d, %a;", -130.0f), 0.0f);
}

TEST(TranslateFloat, ApproximateDivisionLosesLargeDivisors) {
  EXPECT_EQ(evaluate<float>("div.approx.f32 %d, %a, %b;", 6.0f, 3.0f), 2.0f);
  EXPECT_TRUE(same(
      evaluate<float>("div.approx.f32 %d, %a, %b;", 1e38f, 0x1p127f), 0.0f));
  EXPECT_TRUE(same(
      evaluate<float>("div.approx.f32 %d, %a, %b;", kInf, 0x1p127f), kNan));
  EXPECT_EQ(evaluate<float>("div.full.f32 %d, %a, %b;", 0x1p127f, 0x1p127f),
            1.0f);
}

TEST(TranslateFloat, HalfArithmeticRoundsOnce) {
  // 1 + 2^-11 is a tie in half: the smallest third operand decides.
  uint16_t one = 0x3c00, tiny = 0x0001, ulpHalf = 0x1000; // 2^-11
  EXPECT_EQ(evaluate<uint16_t>("add.f16 %d, %a, %b;", one, ulpHalf), 0x3c00);
  EXPECT_EQ(evaluate<uint16_t>("fma.rn.f16 %d, %a, %b, %c;", one, ulpHalf, one),
            0x3c00);
  uint16_t aboveHalf = 0x1001; // a little more than 2^-11
  EXPECT_EQ(
      evaluate<uint16_t>("fma.rn.f16 %d, %a, %b, %c;", aboveHalf, one, one),
      0x3c01);
  EXPECT_EQ(evaluate<uint16_t>("mul.f16 %d, %a, %b;", tiny, uint16_t(0x3800)),
            0); // 2^-25 ties to even zero
  EXPECT_EQ(
      evaluate<uint32_t>("add.f16x2 %d, %a, %b;", 0x3c004000u, 0x40003c00u),
      0x42004200u);
  EXPECT_EQ(evaluate<uint32_t>("fma.rn.f16x2 %d, %a, %a, %a;", 0x3c004000u),
            0x40004600u);
}

} // namespace
} // namespace pascaline::emulator::test
