// Compiled with -frounding-math: the compiler must not move arithmetic across
// a change of rounding mode, nor fold it.
#include "runtime/emulator/translate/HostFunctions.h"
#include "runtime/emulator/Kernel.h"

#include <atomic>
#include <bit>
#include <cfenv>
#include <chrono>
#include <cmath>
#include <cstring>

namespace pascaline::emulator {
namespace {

// Sets one of PTX's rounding modes (rn, rz, rm, rp) while it lives.
class RoundingScope {
public:
  explicit RoundingScope(int mode) : before(std::fegetround()) {
    static constexpr int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD,
                                    FE_UPWARD};
    std::fesetround(modes[mode & 3]);
  }
  ~RoundingScope() { std::fesetround(before); }

private:
  int before;
};

// The results pass through volatile so that they are computed inside the scope.
template <typename T> T add(T a, T b, int mode) {
  volatile T x = a, y = b;
  RoundingScope scope(mode);
  volatile T result = x + y;
  return result;
}

template <typename T> T multiply(T a, T b, int mode) {
  volatile T x = a, y = b;
  RoundingScope scope(mode);
  volatile T result = x * y;
  return result;
}

template <typename T> T divide(T a, T b, int mode) {
  volatile T x = a, y = b;
  RoundingScope scope(mode);
  volatile T result = x / y;
  return result;
}

template <typename T> T multiplyAdd(T a, T b, T c, int mode) {
  volatile T x = a, y = b, z = c;
  RoundingScope scope(mode);
  volatile T result = std::fma(x, y, z);
  return result;
}

template <typename T> T squareRoot(T a, int mode) {
  volatile T x = a;
  RoundingScope scope(mode);
  volatile T result = std::sqrt(x);
  return result;
}

template <typename To, typename From> To convert(From a, int mode) {
  volatile From x = a;
  RoundingScope scope(mode);
  volatile To result = static_cast<To>(x);
  return result;
}

// Bits of the half nearest to `value` in the given direction.
uint16_t half(double value, int mode) {
  uint64_t bits = std::bit_cast<uint64_t>(value);
  uint16_t sign = static_cast<uint16_t>(bits >> 48 & 0x8000);
  int exponent = static_cast<int>(bits >> 52 & 0x7ff);
  uint64_t fraction = bits & ((uint64_t(1) << 52) - 1);
  if (exponent == 0x7ff)
    return fraction ? 0x7fff : sign | 0x7c00;
  bool negative = sign != 0;
  if (exponent == 0)
    exponent = 1; // far below every half: only inexactness matters
  else
    fraction |= uint64_t(1) << 52;
  // The last place of the result weighs 2^last.
  int last = std::max(exponent - 1023, -14) - 10;
  int drop = last - (exponent - 1075); // bits of fraction below it, >= 42
  uint64_t kept = 0, rest = fraction, midpoint = 0;
  bool aboveHalf = false, tie = false;
  if (drop < 64) {
    kept = fraction >> drop;
    rest = fraction & ((uint64_t(1) << drop) - 1);
    midpoint = uint64_t(1) << (drop - 1);
    aboveHalf = rest > midpoint;
    tie = rest == midpoint;
  }
  bool up = mode == 0   ? aboveHalf || (tie && (kept & 1))
            : mode == 2 ? rest && negative
            : mode == 3 ? rest && !negative
                        : false;
  kept += up;
  // Exponent and fraction grow into each other: 2^-24 each for subnormals.
  uint64_t result = last == -24 ? kept : (uint64_t(last + 24) << 10) + kept;
  if (result >= 0x7c00) {
    bool toInfinity =
        mode == 0 || (mode == 2 && negative) || (mode == 3 && !negative);
    result = toInfinity ? 0x7c00 : 0x7bff;
  }
  return static_cast<uint16_t>(sign | result);
}

float sine(float x) { return std::sin(x); }
float cosine(float x) { return std::cos(x); }
float log2(float x) { return std::log2(x); }
float exp2(float x) { return std::exp2(x); }

float flushed(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
}

float atomicAddFlushed(uint32_t *address, float addend) {
  std::atomic_ref<uint32_t> cell(*address);
  uint32_t old = cell.load(std::memory_order_relaxed);
  float sum;
  do
    sum = flushed(flushed(std::bit_cast<float>(old)) + flushed(addend));
  while (!cell.compare_exchange_weak(old, std::bit_cast<uint32_t>(sum),
                                     std::memory_order_relaxed));
  return std::bit_cast<float>(old);
}

uint64_t globalTimer() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(
          std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

template <typename F> void *addressOf(F *function) {
  return reinterpret_cast<void *>(function);
}

} // namespace

const std::vector<HostFunction> &hostFunctions() {
  using Unary = float(float);
  using Unary64 = double(double);
  using Binary = float(float, float);
  using Ternary = float(float, float, float);
  using Ternary64 = double(double, double, double);
  static const std::vector<HostFunction> functions = {
      {"pascalineEmulatorAdd32", addressOf(add<float>)},
      {"pascalineEmulatorAdd64", addressOf(add<double>)},
      {"pascalineEmulatorMultiply32", addressOf(multiply<float>)},
      {"pascalineEmulatorMultiply64", addressOf(multiply<double>)},
      {"pascalineEmulatorDivide32", addressOf(divide<float>)},
      {"pascalineEmulatorDivide64", addressOf(divide<double>)},
      {"pascalineEmulatorMultiplyAdd32", addressOf(multiplyAdd<float>)},
      {"pascalineEmulatorMultiplyAdd64", addressOf(multiplyAdd<double>)},
      {"pascalineEmulatorSquareRoot32", addressOf(squareRoot<float>)},
      {"pascalineEmulatorSquareRoot64", addressOf(squareRoot<double>)},
      {"pascalineEmulatorNarrow", addressOf(convert<float, double>)},
      {"pascalineEmulatorSignedTo32", addressOf(convert<float, int64_t>)},
      {"pascalineEmulatorSignedTo64", addressOf(convert<double, int64_t>)},
      {"pascalineEmulatorUnsignedTo32", addressOf(convert<float, uint64_t>)},
      {"pascalineEmulatorUnsignedTo64", addressOf(convert<double, uint64_t>)},
      {"pascalineEmulatorHalf", addressOf(half)},
      {"pascalineEmulatorSine", addressOf(sine)},
      {"pascalineEmulatorCosine", addressOf(cosine)},
      {"pascalineEmulatorLog2", addressOf(log2)},
      {"pascalineEmulatorExp2", addressOf(exp2)},
      {"pascalineEmulatorAtomicAdd", addressOf(atomicAddFlushed)},
      {"pascalineEmulatorGlobalTimer", addressOf(globalTimer)},
      // Kernel.h
      {"pascalineEmulatorBarrier", addressOf(pascalineEmulatorBarrier)},
      {"pascalineEmulatorBarrierArrive",
       addressOf(pascalineEmulatorBarrierArrive)},
      {"pascalineEmulatorBarrierReduce",
       addressOf(pascalineEmulatorBarrierReduce)},
      {"pascalineEmulatorShuffle", addressOf(pascalineEmulatorShuffle)},
      {"pascalineEmulatorVote", addressOf(pascalineEmulatorVote)},
      {"pascalineEmulatorWarpSync", addressOf(pascalineEmulatorWarpSync)},
      {"pascalineEmulatorTrap", addressOf(pascalineEmulatorTrap)},
      {"pascalineEmulatorTexture", addressOf(pascalineEmulatorTexture)},
      {"pascalineEmulatorCheckGlobal", addressOf(pascalineEmulatorCheckGlobal)},
      {"pascalineEmulatorCheckShared", addressOf(pascalineEmulatorCheckShared)},
      {"pascalineEmulatorBadLocal", addressOf(pascalineEmulatorBadLocal)},
      {"pascalineEmulatorBadParam", addressOf(pascalineEmulatorBadParam)},
      {"pascalineEmulatorCheckBarrier",
       addressOf(pascalineEmulatorCheckBarrier)},
      {"pascalineEmulatorCheckFence", addressOf(pascalineEmulatorCheckFence)},
      {"pascalineEmulatorCountEnter", addressOf(pascalineEmulatorCountEnter)},
      {"pascalineEmulatorCountBlock", addressOf(pascalineEmulatorCountBlock)},
      {"pascalineEmulatorCountReturn", addressOf(pascalineEmulatorCountReturn)},
      {"pascalineEmulatorCountExit", addressOf(pascalineEmulatorCountExit)},
      // LLVM's own
      {"memcpy", addressOf(std::memcpy)},
      {"memmove", addressOf(std::memmove)},
      {"memset", addressOf(std::memset)},
      {"fmaf", addressOf<Ternary>(std::fma)},
      {"fma", addressOf<Ternary64>(std::fma)},
      // .sat of halves
      {"fminf", addressOf<Binary>(std::fmin)},
      {"fmaxf", addressOf<Binary>(std::fmax)},
      {"floorf", addressOf<Unary>(std::floor)},
      {"floor", addressOf<Unary64>(std::floor)},
      {"ceilf", addressOf<Unary>(std::ceil)},
      {"ceil", addressOf<Unary64>(std::ceil)},
      {"truncf", addressOf<Unary>(std::trunc)},
      {"trunc", addressOf<Unary64>(std::trunc)},
      {"roundevenf", addressOf<Unary>(roundevenf)},
      {"roundeven", addressOf<Unary64>(roundeven)},
  };
  return functions;
}

} // namespace pascaline::emulator
