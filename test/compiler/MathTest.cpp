// Elementary functions as kernels compute them, against the C library in
// double precision (long double for f64): random arguments and edge values.

#include "test/compiler/KernelHarness.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

using namespace pascaline::test;

namespace {
using Reference = long double (*)(long double);
struct Function {
  const char *op;
  Reference reference;
  double ulp32, ulp64;
  double low, high; ///< exponents of two of the random arguments
};
class Functions : public testing::TestWithParam<Function> {};
} // namespace

/// |got - expected| in units of the last place of expected; 0 for equal
/// infinities and for two NaN.
template <typename T> static double ulpsApart(T got, long double expected) {
  T rounded = T(expected);
  if (std::isnan(rounded) || std::isnan(got))
    return std::isnan(rounded) == std::isnan(got) ? 0 : INFINITY;
  if (std::isinf(rounded) || std::isinf(got))
    return rounded == got ? 0 : INFINITY;
  if (rounded == 0 && got == 0)
    return 0;
  T unit = std::nextafter(std::abs(rounded), T(INFINITY)) - std::abs(rounded);
  return double(std::abs(got - expected) / unit);
}

template <typename T>
static std::vector<T> arguments(const Function &f, size_t random) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> x = {T(0),
                      T(-0.0),
                      T(1),
                      T(-1),
                      T(0.5),
                      T(2),
                      T(-2),
                      T(3),
                      Limits::min(),
                      -Limits::min(),
                      Limits::denorm_min(),
                      -Limits::denorm_min(),
                      Limits::max(),
                      -Limits::max(),
                      Limits::infinity(),
                      -Limits::infinity(),
                      Limits::quiet_NaN(),
                      T(88.72),
                      T(-87.5),
                      T(-103.9),
                      T(0.9999999),
                      T(1.0000001),
                      T(M_PI),
                      T(M_PI_2)};
  std::mt19937_64 engine(3);
  std::uniform_real_distribution<double> exponent(f.low, f.high);
  while (x.size() < random)
    x.push_back(T(std::exp2(exponent(engine)) * (engine() & 1 ? 1 : -1)));
  return x;
}

template <typename T>
static void check(const Function &f, const char *type, double bound) {
  std::vector<T> x = arguments<T>(f, 4096);
  std::string tensor = "tensor<4096x" + std::string(type) + ">";
  KernelRun run = runGroup(groupText({tensor}, {tensor},
                                     std::string("%1 = pascaline.") + f.op +
                                         " %0 : " + tensor +
                                         "\npascaline.yield %1 : " + tensor),
                           {bytesOf(x)});
  ASSERT_EQ(run.error, "") << run.ptx;
  EXPECT_EQ(run.ptx.find(".local"), std::string::npos);
  std::vector<T> y = valuesOf<T>(run.outputs[0]);
  bool isCircular = std::string(f.op) == "sin" || std::string(f.op) == "cos";
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (sizeof(T) == 8 && isCircular && std::abs(x[i]) > 1e9)
      continue; // not reduced exactly; see passes/kernel/ScalarMath.h
    long double expected = f.reference(x[i]);
    double apart = ulpsApart(y[i], expected);
    worst = std::max(worst, apart);
    EXPECT_LE(apart, bound) << f.op << "(" << x[i] << ") = " << y[i]
                            << ", expected " << double(expected);
    if (y[i] == 0 && expected == 0)
      EXPECT_EQ(std::signbit(y[i]), std::signbit(expected))
          << f.op << "(" << x[i] << ")";
  }
  std::printf("%s %s: %.2f ulp\n", f.op, type, worst);
}

TEST_P(Functions, Single) { check<float>(GetParam(), "f32", GetParam().ulp32); }
TEST_P(Functions, Double) {
  check<double>(GetParam(), "f64", GetParam().ulp64);
}

INSTANTIATE_TEST_SUITE_P(
    All, Functions,
    testing::Values(
        Function{"exp", [](long double x) { return std::exp(x); }, 1.5, 2, -20,
                 6.6},
        Function{"log", [](long double x) { return std::log(x); }, 1.5, 2, -120,
                 120},
        Function{"tanh", [](long double x) { return std::tanh(x); }, 2, 4, -20,
                 4},
        Function{"erf", [](long double x) { return std::erf(x); }, 2, 4, -20,
                 3},
        Function{"sin", [](long double x) { return std::sin(x); }, 2, 4, -10,
                 20},
        Function{"cos", [](long double x) { return std::cos(x); }, 2, 4, -10,
                 20},
        Function{"atan", [](long double x) { return std::atan(x); }, 2, 4, -20,
                 20},
        Function{"sqrt", [](long double x) { return std::sqrt(x); }, 0.501,
                 0.501, -120, 120},
        Function{"floor", [](long double x) { return std::floor(x); }, 0, 0,
                 -10, 40},
        Function{"ceil", [](long double x) { return std::ceil(x); }, 0, 0, -10,
                 40},
        Function{"round", [](long double x) { return std::rint(x); }, 0, 0, -10,
                 40},
        Function{"sigmoid",
                 [](long double x) { return 1 / (1 + std::exp(-x)); }, 3, 4,
                 -20, 6.2}),
    [](const auto &info) { return std::string(info.param.op); });

TEST(SineOfLargeArguments, IsReducedExactlyInSingle) {
  std::vector<float> x(4096);
  std::mt19937 engine(9);
  for (size_t i = 0; i < x.size(); ++i) {
    uint32_t bits = engine() % 0x7f800000u;
    bits |= 0x40000000; // from 2 up to the largest
    std::memcpy(&x[i], &bits, 4);
  }
  for (const char *op : {"sin", "cos"}) {
    KernelRun run =
        runGroup(groupText({"tensor<4096xf32>"}, {"tensor<4096xf32>"},
                           std::string("%1 = pascaline.") + op +
                               " %0 : tensor<4096xf32>\n"
                               "pascaline.yield %1 : tensor<4096xf32>"),
                 {bytesOf(x)});
    ASSERT_EQ(run.error, "") << run.ptx;
    std::vector<float> y = valuesOf<float>(run.outputs[0]);
    for (size_t i = 0; i < x.size(); ++i) {
      double expected =
          op[0] == 's' ? std::sin(double(x[i])) : std::cos(double(x[i]));
      ASSERT_LE(ulpsApart(y[i], expected), 2) << op << " " << x[i];
    }
  }
}

/// Two operands: every pair of some values, then random ones.
template <typename T>
static void checkPairs(const char *op, const char *type, double bound,
                       long double (*reference)(long double, long double),
                       double exponents) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> some = {T(0),
                         T(-0.0),
                         T(1),
                         T(-1),
                         T(2),
                         T(-2),
                         T(3),
                         T(-3),
                         T(0.5),
                         T(-0.5),
                         T(1e30),
                         T(-1e30),
                         T(7.25),
                         Limits::infinity(),
                         -Limits::infinity(),
                         Limits::quiet_NaN()};
  std::vector<T> a, b;
  for (T first : some)
    for (T second : some) {
      a.push_back(first);
      b.push_back(second);
    }
  std::mt19937_64 engine(5);
  std::uniform_real_distribution<double> exponent(-exponents, exponents);
  while (a.size() < 2048) {
    a.push_back(T(std::exp2(exponent(engine))));
    b.push_back(T(std::exp2(exponent(engine) / 4) * (engine() & 1 ? 1 : -1)));
  }
  std::string tensor = "tensor<2048x" + std::string(type) + ">";
  KernelRun run = runGroup(groupText({tensor, tensor}, {tensor},
                                     std::string("%2 = pascaline.") + op +
                                         " %0, %1 : " + tensor + ", " + tensor +
                                         "\npascaline.yield %2 : " + tensor),
                           {bytesOf(a), bytesOf(b)});
  ASSERT_EQ(run.error, "") << run.ptx;
  std::vector<T> y = valuesOf<T>(run.outputs[0]);
  for (size_t i = 0; i < a.size(); ++i) {
    long double expected = reference(a[i], b[i]);
    EXPECT_LE(ulpsApart(y[i], expected), bound)
        << op << "(" << a[i] << ", " << b[i] << ") = " << y[i] << ", expected "
        << double(expected);
  }
}

TEST(Pairs, Power) {
  checkPairs<float>(
      "pow", "f32", 1,
      [](long double a, long double b) { return std::pow(a, b); }, 12);
}

TEST(Pairs, RemainderIsExact) {
  auto reference = [](long double a, long double b) { return std::fmod(a, b); };
  checkPairs<float>("fmod", "f32", 0, reference, 100);
  checkPairs<double>("fmod", "f64", 0, reference, 900);
}
