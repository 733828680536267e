// ScalarMath.h - elementary functions from multiply-adds, compares and bit
// tricks, for f32 and f64 alike.
//
// sm_61 has fast approximations of exp2, log2, sine, cosine and reciprocal
// root, but no function to a few ulp, and no library is linked. Ranges are
// reduced exactly and the rest is a polynomial, so that the emulator and a
// card compute the same bits. Polynomials without a source named beside them
// interpolate the function at Chebyshev nodes (60 digits, then rounded).
//
// Largest errors found over random arguments, in ulp, f32: exp 0.85, log 0.87,
// erf 0.95, tanh 1.5, atan 1.1, sin and cos 1.5. f64 is held to 4 ulp, except
// pow (its error grows with the exponent of the result) and sine and cosine
// above 1e9 (two words of pi are not enough there).
//
// Test: test/compiler/MathTest.cpp
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace pascaline {

class ScalarMath : public mlir::ImplicitLocOpBuilder {
public:
  /// Functions of values of `type`, f32 or f64, emitted at the builder's place.
  ScalarMath(mlir::Location loc, mlir::OpBuilder &builder, mlir::FloatType type)
      : ImplicitLocOpBuilder(loc, builder), type(type) {}

  mlir::Value exp(mlir::Value x);
  mlir::Value log(mlir::Value x);
  mlir::Value pow(mlir::Value base, mlir::Value exponent);
  mlir::Value tanh(mlir::Value x);
  mlir::Value erf(mlir::Value x);
  mlir::Value sin(mlir::Value x) { return circular(x, 0); }
  mlir::Value cos(mlir::Value x) { return circular(x, 1); }
  mlir::Value atan(mlir::Value x);
  mlir::Value fmod(mlir::Value a, mlir::Value b);

private:
  using Real = mlir::arith::CmpFPredicate;
  using Whole = mlir::arith::CmpIPredicate;

  bool isSingle() const { return type.isF32(); }
  /// The value for f32 or the one for f64.
  double pick(double single, double twice) const {
    return isSingle() ? single : twice;
  }
  mlir::Value number(double value);
  mlir::Value integer(int64_t value); ///< as wide as the type
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c);
  mlir::Value fma(mlir::Value a, double b, mlir::Value c) {
    return fma(a, number(b), c);
  }
  mlir::Value neg(mlir::Value x);
  mlir::Value abs(mlir::Value x);
  mlir::Value trunc(mlir::Value x);
  mlir::Value withSign(mlir::Value magnitude, mlir::Value sign);
  mlir::Value compare(Real predicate, mlir::Value a, mlir::Value b);
  mlir::Value compare(Real predicate, mlir::Value a, double b) {
    return compare(predicate, a, number(b));
  }
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value both(mlir::Value a, mlir::Value b);
  mlir::Value bits(mlir::Value x);        ///< as an integer
  mlir::Value fromBits(mlir::Value bits); ///< and back
  /// c[0] + c[1] x + c[2] x^2 + ...
  mlir::Value polynomial(mlir::Value x, llvm::ArrayRef<double> c);
  /// x rounded to the nearest integer, for |x| far below the mantissa's end:
  /// as a float, and in the low bits of an integer.
  struct Rounded {
    mlir::Value real, whole;
  };
  Rounded roundProduct(mlir::Value x, double factor);
  /// 2^n for n in the range of normal exponents.
  mlir::Value powerOfTwo(mlir::Value n);

  mlir::Value circular(mlir::Value x, int64_t quarter);
  /// x less the nearest multiple of pi/2, and which multiple (modulo 4).
  Rounded reduceQuarter(mlir::Value x);
  Rounded reduceLargeQuarter(mlir::Value x);

  mlir::FloatType type;
};

} // namespace pascaline
