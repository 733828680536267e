// Formulas.cpp - constants and total integer arithmetic.
#include "compiler/ir/ops/Formulas.h"

using namespace mlir;

namespace pascaline::detail {

Value Formulas::number(Type type, double value) {
  return create<arith::ConstantOp>(getFloatAttr(type, value));
}

Value Formulas::integer(Type type, int64_t value) {
  return create<arith::ConstantOp>(getIntegerAttr(type, value));
}

Value Formulas::bits(Type type, const APInt &value) {
  return create<arith::ConstantOp>(getIntegerAttr(type, value));
}

Value Formulas::divide(Value a, Value b, bool isUnsigned) {
  Type type = a.getType();
  Value zero = integer(type, 0), one = integer(type, 1);
  Value byZero = compare(Int::eq, b, zero);
  if (isUnsigned) {
    Value quotient = create<arith::DivUIOp>(a, select(byZero, one, b));
    return select(byZero, zero, quotient);
  }
  Value byMinusOne = compare(Int::eq, b, integer(type, -1));
  Value special = create<arith::OrIOp>(byZero, byMinusOne);
  Value quotient = create<arith::DivSIOp>(a, select(special, one, b));
  Value negated = create<arith::SubIOp>(zero, a);
  return select(byZero, zero, select(byMinusOne, negated, quotient));
}

Value Formulas::remainder(Value a, Value b, bool isUnsigned) {
  Type type = a.getType();
  Value zero = integer(type, 0), one = integer(type, 1);
  Value special = compare(Int::eq, b, zero);
  if (isUnsigned) {
    Value rest = create<arith::RemUIOp>(a, select(special, one, b));
    return select(special, zero, rest);
  }
  // Anything modulo 1 or -1 is 0, so 1 stands for -1 (INT_MIN rem -1 traps).
  special =
      create<arith::OrIOp>(special, compare(Int::eq, b, integer(type, -1)));
  return create<arith::RemSIOp>(a, select(special, one, b));
}

/// Square and multiply over the exponent's bits, wrapping as integers do; a
/// negative exponent is 1 / a^|b|, truncated.
Value Formulas::power(Value a, Value b, bool isUnsigned) {
  Type type = a.getType();
  unsigned width = type.getIntOrFloatBitWidth();
  Value zero = integer(type, 0), one = integer(type, 1);
  Value result = one, square = a;
  for (unsigned i = 0; i < width; ++i) {
    Value bit =
        create<arith::AndIOp>(b, bits(type, APInt::getOneBitSet(width, i)));
    Value product = create<arith::MulIOp>(result, square);
    result = select(compare(Int::ne, bit, zero), product, result);
    if (i + 1 < width)
      square = create<arith::MulIOp>(square, square);
  }
  if (isUnsigned)
    return result;
  Value odd = compare(Int::ne, create<arith::AndIOp>(b, one), zero);
  Value minusOne = integer(type, -1);
  Value inverse = select(
      compare(Int::eq, a, one), one,
      select(compare(Int::eq, a, minusOne), select(odd, minusOne, one), zero));
  return select(compare(Int::slt, b, zero), inverse, result);
}

} // namespace pascaline::detail
