// ScalarMath.cpp - the arithmetic under the functions; see the header.

#include "passes/kernel/ScalarMath.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace pascaline {

Value ScalarMath::number(double value) {
  return create<arith::ConstantOp>(getFloatAttr(type, value));
}

Value ScalarMath::integer(int64_t value) {
  return create<arith::ConstantOp>(
      getIntegerAttr(getIntegerType(type.getWidth()), value));
}

Value ScalarMath::add(Value a, Value b) { return create<arith::AddFOp>(a, b); }
Value ScalarMath::sub(Value a, Value b) { return create<arith::SubFOp>(a, b); }
Value ScalarMath::mul(Value a, Value b) { return create<arith::MulFOp>(a, b); }
Value ScalarMath::div(Value a, Value b) { return create<arith::DivFOp>(a, b); }
Value ScalarMath::neg(Value x) { return create<arith::NegFOp>(x); }
Value ScalarMath::abs(Value x) { return create<LLVM::FAbsOp>(type, x); }
Value ScalarMath::trunc(Value x) { return create<LLVM::FTruncOp>(type, x); }

Value ScalarMath::fma(Value a, Value b, Value c) {
  return create<LLVM::FMAOp>(type, a, b, c);
}

Value ScalarMath::compare(Real predicate, Value a, Value b) {
  return create<arith::CmpFOp>(predicate, a, b);
}

Value ScalarMath::select(Value condition, Value a, Value b) {
  return create<arith::SelectOp>(condition, a, b);
}

Value ScalarMath::both(Value a, Value b) { return create<arith::AndIOp>(a, b); }

Value ScalarMath::bits(Value x) {
  return create<arith::BitcastOp>(getIntegerType(type.getWidth()), x);
}

Value ScalarMath::fromBits(Value bits) {
  return create<arith::BitcastOp>(type, bits);
}

Value ScalarMath::withSign(Value magnitude, Value sign) {
  int64_t mask = isSingle() ? int64_t(1) << 31 : INT64_MIN;
  Value top = create<arith::AndIOp>(bits(sign), integer(mask));
  Value rest = create<arith::AndIOp>(bits(magnitude), integer(~mask));
  return fromBits(create<arith::OrIOp>(rest, top));
}

Value ScalarMath::polynomial(Value x, ArrayRef<double> c) {
  Value sum = number(c.back());
  for (double coefficient : llvm::reverse(c.drop_back()))
    sum = fma(sum, x, number(coefficient));
  return sum;
}

/// Adding 1.5 * 2^p, p the mantissa's length, leaves the rounded number in the
/// lowest bits of the sum.
ScalarMath::Rounded ScalarMath::roundProduct(Value x, double factor) {
  double magic = pick(12582912.0, 6755399441055744.0);
  int64_t magicBits = isSingle() ? 0x4b400000 : 0x4338000000000000;
  Value sum = fma(x, factor, number(magic));
  return {sub(sum, number(magic)),
          create<arith::SubIOp>(bits(sum), integer(magicBits))};
}

Value ScalarMath::powerOfTwo(Value n) {
  Value exponent = create<arith::AddIOp>(n, integer(isSingle() ? 127 : 1023));
  return fromBits(
      create<arith::ShLIOp>(exponent, integer(isSingle() ? 23 : 52)));
}

} // namespace pascaline
