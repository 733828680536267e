// Logic.cpp - comparisons, logic, bits and predicates.
#include "compiler/import/OpTable.h"
#include "compiler/import/Text.h"
#include "compiler/import/ops/Common.h"
#include "compiler/ir/Dialect.h"
#include "compiler/ir/Types.h"

using namespace mlir;

namespace pascaline::importer {
namespace {

template <ComparePredicate predicate>
LogicalResult importCompare(NodeImporter &n) {
  auto operands = legacyOperands(n);
  if (!operands)
    return failure();
  return n.done(
      n.create<CompareOp>(predicate, operands->first, operands->second));
}

LogicalResult checkBools(NodeImporter &n) {
  for (unsigned i = 0; i < n.numInputs(); ++i)
    if (!isBool(n.input(i)))
      return n.invalid("takes bools, not " + typeText(n.input(i).getType()));
  return success();
}

template <typename Op> LogicalResult importLogical(NodeImporter &n) {
  auto operands = legacyOperands(n);
  if (!operands || failed(checkBools(n)))
    return failure();
  return n.done(n.create<Op>(operands->first, operands->second));
}

template <typename Op> LogicalResult importBitwise(NodeImporter &n) {
  for (unsigned i = 0; i < 2; ++i)
    if (isFloat(n.input(i)) || isBool(n.input(i)))
      return n.invalid("takes integers, not " + typeText(n.input(i).getType()));
  return n.done(n.create<Op>(n.input(0), n.input(1)));
}

LogicalResult importNot(NodeImporter &n) {
  if (failed(checkBools(n)))
    return failure();
  return n.done(n.create<NotOp>(n.input(0)));
}

LogicalResult importBitwiseNot(NodeImporter &n) {
  if (isFloat(n.input(0)) || isBool(n.input(0)))
    return n.invalid("takes integers, not " + typeText(n.input(0).getType()));
  return n.done(n.create<NotOp>(n.input(0)));
}

LogicalResult importShiftRight(NodeImporter &n) {
  Value x = n.input(0);
  if (!elementOf(x).isSignlessInteger() || isBool(x))
    return importBitwise<ShiftRightOp>(n);
  // Signed integers (from opset 28 on) keep their sign: a negative number's
  // complement is shifted.
  Value below =
      n.create<CompareOp>(ComparePredicate::lt, x, n.scalarLike(0, x));
  Value flipped = n.select(below, n.create<NotOp>(x), x);
  Value y = n.create<ShiftRightOp>(flipped, n.input(1));
  return n.done(n.select(below, n.create<NotOp>(y), y));
}

LogicalResult importBitShift(NodeImporter &n) {
  StringRef direction = n.stringAttr("direction", "");
  if (direction == "LEFT")
    return importBitwise<ShiftLeftOp>(n);
  if (direction == "RIGHT")
    return importShiftRight(n);
  return n.invalid("has direction=" + quoted(direction) +
                   "; it is LEFT or RIGHT");
}

LogicalResult importIsNan(NodeImporter &n) {
  return n.done(n.create<IsNanOp>(n.input(0)));
}

LogicalResult importIsInf(NodeImporter &n) {
  return n.done(n.create<IsInfOp>(n.input(0),
                                  n.flagAttr("detect_positive", true),
                                  n.flagAttr("detect_negative", true)));
}

LogicalResult importWhere(NodeImporter &n) {
  if (!isBool(n.input(0)))
    return n.invalid("takes a condition of bools, not " +
                     typeText(n.input(0).getType()));
  return n.done(n.select(n.input(0), n.input(1), n.input(2)));
}

constexpr Arity kOne{1, 1}, kTwo{2, 2};
constexpr const char *kOld = "axis=i broadcast=i";

const OpRow kRows[] = {
    {"Equal", 1, kTwo, kOne, kOld, importCompare<ComparePredicate::eq>},
    {"Equal", 7, kTwo, kOne, "", importCompare<ComparePredicate::eq>},
    {"Greater", 1, kTwo, kOne, kOld, importCompare<ComparePredicate::gt>},
    {"Greater", 7, kTwo, kOne, "", importCompare<ComparePredicate::gt>},
    {"Less", 1, kTwo, kOne, kOld, importCompare<ComparePredicate::lt>},
    {"Less", 7, kTwo, kOne, "", importCompare<ComparePredicate::lt>},
    {"GreaterOrEqual", 12, kTwo, kOne, "", importCompare<ComparePredicate::ge>},
    {"LessOrEqual", 12, kTwo, kOne, "", importCompare<ComparePredicate::le>},
    {"And", 1, kTwo, kOne, kOld, importLogical<AndOp>},
    {"And", 7, kTwo, kOne, "", importLogical<AndOp>},
    {"Or", 1, kTwo, kOne, kOld, importLogical<OrOp>},
    {"Or", 7, kTwo, kOne, "", importLogical<OrOp>},
    {"Xor", 1, kTwo, kOne, kOld, importLogical<XorOp>},
    {"Xor", 7, kTwo, kOne, "", importLogical<XorOp>},
    {"Not", 1, kOne, kOne, "", importNot},
    {"BitwiseAnd", 18, kTwo, kOne, "", importBitwise<AndOp>},
    {"BitwiseOr", 18, kTwo, kOne, "", importBitwise<OrOp>},
    {"BitwiseXor", 18, kTwo, kOne, "", importBitwise<XorOp>},
    {"BitwiseNot", 18, kOne, kOne, "", importBitwiseNot},
    {"BitShift", 11, kTwo, kOne, "direction=s!", importBitShift},
    {"IsNaN", 9, kOne, kOne, "", importIsNan},
    {"IsInf", 10, kOne, kOne, "detect_negative=i detect_positive=i",
     importIsInf},
    {"Where", 9, {3, 3}, kOne, "", importWhere},
};

} // namespace

ArrayRef<OpRow> logicRows() { return kRows; }

} // namespace pascaline::importer
