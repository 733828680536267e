// BinaryScalars.cpp - how ops of two and three operands compute one element.
//
// Test: test/ir/fold-pointwise.mlir
#include "compiler/ir/Dialect.h"
#include "compiler/ir/ops/Common.h"
#include "compiler/ir/ops/Formulas.h"
#include "mlir/IR/Matchers.h"

#include <limits>

using namespace mlir;
using namespace pascaline::detail;

namespace pascaline {

using FP = Formulas::FP;
using Int = Formulas::Int;

template <typename FloatOp, typename IntOp>
static Value arithmetic(OpBuilder &builder, Location loc, ValueRange operands) {
  if (isFloat(operands[0]))
    return builder.create<FloatOp>(loc, operands[0], operands[1]);
  return builder.create<IntOp>(loc, operands[0], operands[1]);
}

FORMULA(AddOp) {
  return arithmetic<arith::AddFOp, arith::AddIOp>(builder, loc, operands);
}
FORMULA(SubOp) {
  return arithmetic<arith::SubFOp, arith::SubIOp>(builder, loc, operands);
}
FORMULA(MulOp) {
  return arithmetic<arith::MulFOp, arith::MulIOp>(builder, loc, operands);
}

FORMULA(DivOp) {
  Formulas f(builder, loc);
  if (isFloat(operands[0]))
    return f.create<arith::DivFOp>(operands[0], operands[1]);
  return f.divide(operands[0], operands[1], isUnsigned(getA()));
}

/// A literal exponent is spelled out where that is exact or nearly so: squares
/// are what normalisations ask of pow.
FORMULA(PowOp) {
  Formulas f(builder, loc);
  Value a = operands[0], b = operands[1];
  if (!isFloat(a))
    return f.power(a, b, isUnsigned(getA()));
  FloatAttr exponent;
  if (matchPattern(b, m_Constant(&exponent))) {
    double value = exponent.getValueAsDouble();
    if (value == 1)
      return a;
    if (value == -1)
      return f.create<arith::DivFOp>(f.number(a.getType(), 1), a);
    if (value == 2 || value == 3) {
      Value square = f.create<arith::MulFOp>(a, a);
      return value == 2 ? square : f.create<arith::MulFOp>(square, a);
    }
  }
  return f.create<math::PowFOp>(a, b);
}

/// PTX's min and max return the other operand for NaN, so a NaN is put back.
template <typename FloatOp>
static Value extremum(Formulas &f, Value a, Value b) {
  Value nan = f.number(a.getType(), std::numeric_limits<double>::quiet_NaN());
  Value number = f.create<FloatOp>(a, b);
  return f.select(f.compare(FP::UNO, a, b), nan, number);
}

FORMULA(MaxOp) {
  Formulas f(builder, loc);
  Value a = operands[0], b = operands[1];
  if (isFloat(a))
    return extremum<arith::MaxNumFOp>(f, a, b);
  if (isUnsigned(getA()))
    return f.create<arith::MaxUIOp>(a, b);
  return f.create<arith::MaxSIOp>(a, b);
}

FORMULA(MinOp) {
  Formulas f(builder, loc);
  Value a = operands[0], b = operands[1];
  if (isFloat(a))
    return extremum<arith::MinNumFOp>(f, a, b);
  if (isUnsigned(getA()))
    return f.create<arith::MinUIOp>(a, b);
  return f.create<arith::MinSIOp>(a, b);
}

/// The truncating remainder, moved by one divisor where signs differ.
FORMULA(ModOp) {
  Formulas f(builder, loc);
  Value a = operands[0], b = operands[1];
  if (isFloat(a)) {
    Value zero = f.number(a.getType(), 0);
    Value rest = f.create<arith::RemFOp>(a, b);
    Value differ = f.compare(Int::ne, f.compare(FP::OLT, rest, zero),
                             f.compare(FP::OLT, b, zero));
    Value move =
        f.create<arith::AndIOp>(f.compare(FP::ONE, rest, zero), differ);
    return f.select(move, f.create<arith::AddFOp>(rest, b), rest);
  }
  Value rest = f.remainder(a, b, isUnsigned(getA()));
  if (isUnsigned(getA()))
    return rest;
  Value zero = f.integer(a.getType(), 0);
  Value differ = f.compare(Int::slt, f.create<arith::XOrIOp>(rest, b), zero);
  Value move = f.create<arith::AndIOp>(f.compare(Int::ne, rest, zero), differ);
  return f.select(move, f.create<arith::AddIOp>(rest, b), rest);
}

FORMULA(FmodOp) {
  Formulas f(builder, loc);
  if (isFloat(operands[0]))
    return f.create<arith::RemFOp>(operands[0], operands[1]);
  return f.remainder(operands[0], operands[1], isUnsigned(getA()));
}

FORMULA(AndOp) {
  return builder.create<arith::AndIOp>(loc, operands[0], operands[1]);
}
FORMULA(OrOp) {
  return builder.create<arith::OrIOp>(loc, operands[0], operands[1]);
}
FORMULA(XorOp) {
  return builder.create<arith::XOrIOp>(loc, operands[0], operands[1]);
}

/// LLVM's shifts are undefined from the width on.
template <typename ShiftOp>
static Value shift(OpBuilder &builder, Location loc, ValueRange operands) {
  Formulas f(builder, loc);
  Type type = operands[0].getType();
  Value zero = f.integer(type, 0);
  unsigned width = type.getIntOrFloatBitWidth();
  // Of one bit, only a shift by 0 is below the width.
  Value fits = width == 1
                   ? f.compare(Int::eq, operands[1], zero)
                   : f.compare(Int::ult, operands[1], f.integer(type, width));
  Value amount = f.select(fits, operands[1], zero);
  return f.select(fits, f.create<ShiftOp>(operands[0], amount), zero);
}

FORMULA(ShiftLeftOp) { return shift<arith::ShLIOp>(builder, loc, operands); }
FORMULA(ShiftRightOp) { return shift<arith::ShRUIOp>(builder, loc, operands); }

FORMULA(CompareOp) {
  Formulas f(builder, loc);
  static constexpr FP kFloat[] = {FP::OEQ, FP::UNE, FP::OLT,
                                  FP::OLE, FP::OGT, FP::OGE};
  static constexpr Int kSigned[] = {Int::eq,  Int::ne,  Int::slt,
                                    Int::sle, Int::sgt, Int::sge};
  static constexpr Int kUnsigned[] = {Int::eq,  Int::ne,  Int::ult,
                                      Int::ule, Int::ugt, Int::uge};
  auto index = static_cast<unsigned>(getPredicate());
  Value a = operands[0], b = operands[1];
  if (isFloat(a))
    return f.compare(kFloat[index], a, b);
  return f.compare((isUnsigned(getA()) ? kUnsigned : kSigned)[index], a, b);
}

FORMULA(SelectOp) {
  return builder.create<arith::SelectOp>(loc, operands[0], operands[1],
                                         operands[2]);
}

} // namespace pascaline
