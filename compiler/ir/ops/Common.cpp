// Common.cpp - checks that the shape functions share.
#include "compiler/ir/ops/Common.h"

#include "compiler/ir/Shapes.h"
#include "compiler/ir/Types.h"

using namespace mlir;

namespace pascaline::detail {

std::string shapeText(llvm::ArrayRef<int64_t> shape) {
  if (shape.empty())
    return "rank 0";
  std::string text;
  for (int64_t d : shape)
    text += (text.empty() ? "" : "x") + std::to_string(d);
  return text;
}

LogicalResult checkOperands(std::optional<Location> location,
                            ValueRange operands) {
  for (auto [i, operand] : llvm::enumerate(operands)) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (!type || !type.hasStaticShape())
      return emitOptionalError(location, "operand #", i,
                               " must be a tensor of static shape, but is ",
                               operand.getType());
  }
  return success();
}

LogicalResult addResult(std::optional<Location> location,
                        llvm::ArrayRef<int64_t> shape, Type element,
                        SmallVectorImpl<Type> &results) {
  if (!elementCount(shape))
    return emitOptionalError(location, "a result of ", shapeText(shape),
                             " has more than 2147483647 elements; split the "
                             "tensor, kernels index with 32 bits");
  results.push_back(RankedTensorType::get(shape, element));
  return success();
}

LogicalResult inferPointwise(std::optional<Location> location,
                             ValueRange operands, bool toBool,
                             SmallVectorImpl<Type> &results) {
  Value last = operands.back();
  // select's condition is the one operand of another element type.
  ValueRange alike = operands.size() == 3 ? operands.drop_front() : operands;
  for (Value operand : alike)
    if (elementOf(operand) != elementOf(last))
      return emitOptionalError(location,
                               "element types differ: ", elementOf(operand),
                               " and ", elementOf(last), "; cast one of them");
  Shape shape(shapeOf(operands.front()));
  for (Value operand : operands.drop_front()) {
    auto wider = broadcastShapes(shape, shapeOf(operand));
    if (!wider)
      return emitOptionalError(location,
                               "shapes do not broadcast: ", shapeText(shape),
                               " and ", shapeText(shapeOf(operand)));
    shape = *wider;
  }
  Type element =
      toBool ? IntegerType::get(last.getContext(), 1) : elementOf(last);
  if (!toBool && operands.size() == 1) {
    results.push_back(last.getType()); // its layout stays
    return success();
  }
  return addResult(location, shape, element, results);
}

FailureOr<SmallVector<int64_t>> parseIntegers(AsmParser &parser) {
  SmallVector<int64_t> values;
  auto parseOne = [&] { return parser.parseInteger(values.emplace_back()); };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  return values;
}

void printIntegers(AsmPrinter &printer, llvm::ArrayRef<int64_t> values) {
  printer << '[';
  llvm::interleaveComma(values, printer);
  printer << ']';
}

} // namespace pascaline::detail
