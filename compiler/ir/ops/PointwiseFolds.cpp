// PointwiseFolds.cpp - what pointwise ops simplify to without computing.
//
// Only what holds for every float: x * 0 is not 0 (NaN, infinity), x - x
// neither, and x + 0 turns -0 into 0, so the neutral element of a sum is -0.
//
// Test: test/ir/fold-pointwise.mlir
#include "compiler/ir/Dialect.h"
#include "compiler/ir/ops/Common.h"
#include "compiler/ir/ops/Evaluate.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace pascaline::detail {

/// Whether a constant has `number` in every element; for floats the sign of
/// zero counts.
static bool isSplat(Attribute value, double number) {
  auto dense = dyn_cast_or_null<DenseElementsAttr>(value);
  if (!dense || !dense.isSplat())
    return false;
  if (isa<FloatType>(dense.getElementType())) {
    APFloat wanted(number);
    bool lossy;
    wanted.convert(cast<FloatType>(dense.getElementType()).getFloatSemantics(),
                   APFloat::rmNearestTiesToEven, &lossy);
    return dense.getSplatValue<APFloat>().bitwiseIsEqual(wanted);
  }
  APInt wanted(dense.getElementType().getIntOrFloatBitWidth(),
               static_cast<int64_t>(number), /*isSigned=*/true);
  return dense.getSplatValue<APInt>() == wanted;
}

/// An operand that the op passes on unchanged, or null.
static Value passedOn(Operation *op, ArrayRef<Attribute> constants) {
  bool ofFloats = isa<FloatType>(elementOf(op->getOperand(0)));
  auto isRight = [&](double n) { return isSplat(constants[1], n); };
  auto neutral = [&](double n) {
    return isSplat(constants[0], n) ? op->getOperand(1)
           : isRight(n)             ? op->getOperand(0)
                                    : Value();
  };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<AddOp>([&](auto) { return neutral(ofFloats ? -0.0 : 0); })
      .Case<SubOp>([&](auto o) { return isRight(0) ? o.getA() : Value(); })
      .Case<MulOp>([&](auto) { return neutral(1); })
      .Case<DivOp, PowOp>(
          [&](auto o) { return isRight(1) ? o.getA() : Value(); })
      .Case<OrOp, XorOp>([&](auto) { return neutral(0); })
      .Case<AndOp>([&](auto) { return neutral(-1); })
      .Case<ShiftLeftOp, ShiftRightOp>(
          [&](auto o) { return isRight(0) ? o.getA() : Value(); })
      .Case<SelectOp>([&](auto o) -> Value {
        if (o.getA() == o.getB() || isSplat(constants[0], -1))
          return o.getA();
        return isSplat(constants[0], 0) ? o.getB() : Value();
      })
      .Case<CastOp>([](auto o) { return o.getX(); })
      .Case<NegOp, NotOp>([](auto o) -> Value { // their own inverse
        auto inner = o.getX().template getDefiningOp<decltype(o)>();
        return inner ? inner.getX() : Value();
      })
      .Case<ReluOp, AbsOp, FloorOp, CeilOp, RoundOp>(
          [](auto o) -> Value { // the second time changes nothing
            auto inner = o.getX().template getDefiningOp<decltype(o)>();
            return inner ? o.getX() : Value();
          })
      .Default([](Operation *) { return Value(); });
}

OpFoldResult foldPointwise(Operation *op, ArrayRef<Attribute> operands) {
  if (ElementsAttr value = evaluatePointwise(op, operands))
    return value;
  Value same = passedOn(op, operands);
  if (same && same.getType() == op->getResult(0).getType())
    return same;
  return {};
}

} // namespace pascaline::detail
