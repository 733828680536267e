// UnaryScalars.cpp - how ops of one operand compute one element.
//
// Functions that sm_61 has no instruction for stay math ops here; one place,
// passes/kernel/ExpandMath, decides how they are computed.
//
// Test: test/ir/fold-pointwise.mlir
#include "compiler/ir/Dialect.h"
#include "compiler/ir/Types.h"
#include "compiler/ir/ops/Common.h"
#include "compiler/ir/ops/Formulas.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace pascaline::detail;

namespace pascaline {

using FP = Formulas::FP;
using Int = Formulas::Int;

#define MATH_FORMULA(Op, MathOp)                                               \
  FORMULA(Op) { return builder.create<MathOp>(loc, operands[0]); }

MATH_FORMULA(SqrtOp, math::SqrtOp)
MATH_FORMULA(ExpOp, math::ExpOp)
MATH_FORMULA(LogOp, math::LogOp)
MATH_FORMULA(ErfOp, math::ErfOp)
MATH_FORMULA(TanhOp, math::TanhOp)
MATH_FORMULA(SinOp, math::SinOp)
MATH_FORMULA(CosOp, math::CosOp)
MATH_FORMULA(AtanOp, math::AtanOp)
MATH_FORMULA(FloorOp, math::FloorOp)
MATH_FORMULA(CeilOp, math::CeilOp)
MATH_FORMULA(RoundOp, math::RoundEvenOp)

FORMULA(NegOp) {
  Formulas f(builder, loc);
  Value x = operands[0];
  if (isFloat(x))
    return f.create<arith::NegFOp>(x);
  return f.create<arith::SubIOp>(f.integer(x.getType(), 0), x);
}

FORMULA(AbsOp) {
  Formulas f(builder, loc);
  Value x = operands[0];
  if (isFloat(x))
    return f.create<math::AbsFOp>(x);
  if (isUnsigned(getX()))
    return x;
  Value zero = f.integer(x.getType(), 0);
  Value negated = f.create<arith::SubIOp>(zero, x);
  return f.select(f.compare(Int::slt, x, zero), negated, x);
}

FORMULA(SignOp) {
  Formulas f(builder, loc);
  Value x = operands[0];
  Type type = x.getType();
  if (isFloat(x)) {
    Value zero = f.number(type, 0);
    Value rest = f.select(f.compare(FP::UNO, x, x), x, zero);
    rest = f.select(f.compare(FP::OLT, x, zero), f.number(type, -1), rest);
    return f.select(f.compare(FP::OGT, x, zero), f.number(type, 1), rest);
  }
  Value zero = f.integer(type, 0), one = f.integer(type, 1);
  if (isUnsigned(getX()))
    return f.select(f.compare(Int::ne, x, zero), one, zero);
  Value rest =
      f.select(f.compare(Int::slt, x, zero), f.integer(type, -1), zero);
  return f.select(f.compare(Int::sgt, x, zero), one, rest);
}

FORMULA(ReluOp) {
  Formulas f(builder, loc);
  Value x = operands[0];
  if (isFloat(x)) {
    // Ordered, so that NaN takes the other branch.
    Value zero = f.number(x.getType(), 0);
    return f.select(f.compare(FP::OLT, x, zero), zero, x);
  }
  if (isUnsigned(getX()))
    return x;
  return f.create<arith::MaxSIOp>(x, f.integer(x.getType(), 0));
}

FORMULA(ReciprocalOp) {
  Formulas f(builder, loc);
  Value one = f.number(operands[0].getType(), 1);
  return f.create<arith::DivFOp>(one, operands[0]);
}

/// exp(-x) overflows to infinity, and 1 / infinity is the right 0.
FORMULA(SigmoidOp) {
  Formulas f(builder, loc);
  Value one = f.number(operands[0].getType(), 1);
  Value negated = f.create<arith::NegFOp>(operands[0]);
  Value power = f.create<math::ExpOp>(negated);
  return f.create<arith::DivFOp>(one, f.create<arith::AddFOp>(power, one));
}

FORMULA(NotOp) {
  Formulas f(builder, loc);
  Value ones = f.integer(operands[0].getType(), -1);
  return f.create<arith::XOrIOp>(operands[0], ones);
}

FORMULA(IsNanOp) {
  Formulas f(builder, loc);
  return f.compare(FP::UNO, operands[0], operands[0]);
}

FORMULA(IsInfOp) {
  Formulas f(builder, loc);
  double inf = std::numeric_limits<double>::infinity();
  Type type = operands[0].getType();
  Value result = f.integer(f.getI1Type(), 0);
  if (getPositive())
    result = f.compare(FP::OEQ, operands[0], f.number(type, inf));
  if (getNegative())
    result = f.create<arith::OrIOp>(
        result, f.compare(FP::OEQ, operands[0], f.number(type, -inf)));
  return result;
}

//===- cast -------------------------------------------------------------===//

static Value castToBool(Formulas &f, Value x) {
  if (isFloat(x))
    return f.compare(FP::UNE, x, f.number(x.getType(), 0));
  return f.compare(Int::ne, x, f.integer(x.getType(), 0));
}

static Value castToFloat(Formulas &f, Value x, Type to, bool fromUnsigned) {
  if (isFloat(x)) {
    unsigned from = x.getType().getIntOrFloatBitWidth();
    unsigned width = to.getIntOrFloatBitWidth();
    if (from < width)
      return f.create<arith::ExtFOp>(to, x);
    return from > width ? Value(f.create<arith::TruncFOp>(to, x)) : x;
  }
  if (fromUnsigned)
    return f.create<arith::UIToFPOp>(to, x);
  return f.create<arith::SIToFPOp>(to, x);
}

/// Truncates towards zero and saturates: the conversion itself sees only
/// values in its range, as LLVM's is undefined outside.
static Value castToInteger(Formulas &f, Value x, Type to, bool toUnsigned) {
  Type from = x.getType();
  unsigned width = to.getIntOrFloatBitWidth();
  APInt most =
      toUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width);
  APInt least =
      toUnsigned ? APInt::getMinValue(width) : APInt::getSignedMinValue(width);
  // Powers of two are exact in every float type that computes.
  double end = std::ldexp(1.0, toUnsigned ? width : width - 1);
  Value high = f.number(from, end), low = f.number(from, toUnsigned ? 0 : -end);
  Value above = f.compare(FP::OGE, x, high);
  Value below = f.compare(FP::OLT, x, low);
  Value inside = f.create<arith::AndIOp>(f.compare(FP::OLT, x, high),
                                         f.compare(FP::OGE, x, low));
  Value safe = f.select(inside, x, f.number(from, 0));
  Value number = toUnsigned ? Value(f.create<arith::FPToUIOp>(to, safe))
                            : Value(f.create<arith::FPToSIOp>(to, safe));
  return f.select(above, f.bits(to, most),
                  f.select(below, f.bits(to, least), number));
}

FORMULA(CastOp) {
  Formulas f(builder, loc);
  Value x = operands[0];
  Type element = elementOf(getY()), to = computeType(element);
  if (element == elementOf(getX()))
    return x;
  if (element.isInteger(1))
    return castToBool(f, x);
  if (isa<FloatType>(element)) {
    // A 16-bit result is rounded to its type, then computed on in f32.
    Value y = castToFloat(f, x, to == element || isFloat(x) ? element : to,
                          isUnsigned(getX()));
    if (y.getType() == to && to != element)
      y = f.create<arith::TruncFOp>(element, y);
    return y.getType() == to ? y : f.create<arith::ExtFOp>(to, y);
  }
  if (isFloat(x))
    return castToInteger(f, x, to, isUnsigned(getY()));
  unsigned from = x.getType().getIntOrFloatBitWidth();
  unsigned width = to.getIntOrFloatBitWidth();
  if (width < from)
    return f.create<arith::TruncIOp>(to, x);
  if (width == from)
    return x;
  if (isUnsigned(getX()))
    return f.create<arith::ExtUIOp>(to, x);
  return f.create<arith::ExtSIOp>(to, x);
}

} // namespace pascaline
