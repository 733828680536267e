// Movement.cpp - shapes and verifiers of the ops that move elements.
//
// Test: test/ir/movement.mlir, test/ir/movement-invalid.mlir
#include "compiler/ir/Dialect.h"
#include "compiler/ir/Shapes.h"
#include "compiler/ir/Types.h"
#include "compiler/ir/ops/Common.h"

#include <limits>

using namespace mlir;
using namespace pascaline::detail;

namespace pascaline {

static LogicalResult checkRank(std::optional<Location> location, StringRef name,
                               ArrayRef<int64_t> values, int64_t rank) {
  if (int64_t(values.size()) == rank)
    return success();
  return emitOptionalError(location, name,
                           " must have a value for each of the ", rank,
                           " dimensions, but has ", values.size());
}

static LogicalResult checkAxis(std::optional<Location> location, int64_t axis,
                               int64_t rank) {
  if (axis >= 0 && axis < rank)
    return success();
  return emitOptionalError(location, "axis must be 0 to ", rank - 1,
                           ", but is ", axis);
}

//===- constant ---------------------------------------------------------===//

LogicalResult ConstantOp::inferReturnTypes(MLIRContext *context,
                                           std::optional<Location> location,
                                           Adaptor adaptor,
                                           SmallVectorImpl<Type> &results) {
  auto type = dyn_cast<RankedTensorType>(adaptor.getValue().getType());
  if (!type)
    return emitOptionalError(location, "value must be a ranked tensor, but is ",
                             adaptor.getValue().getType());
  results.push_back(type);
  return success();
}

//===- transpose --------------------------------------------------------===//

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *context,
                                            std::optional<Location> location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &results) {
  auto shape = shapeOf(adaptor.getX());
  int64_t rank = shape.size();
  if (failed(checkRank(location, "perm", adaptor.getPerm(), rank)))
    return failure();
  SmallVector<bool> seen(rank, false);
  Shape result;
  for (int64_t d : adaptor.getPerm()) {
    if (d < 0 || d >= rank || seen[d])
      return emitOptionalError(
          location, "perm must name each of the dimensions 0 to ", rank - 1,
          " once, but ", d, d < 0 || d >= rank ? " is none" : " comes twice");
    seen[d] = true;
    result.push_back(shape[d]);
  }
  return addResult(location, result, elementOf(adaptor.getX()), results);
}

//===- reshape, broadcast -----------------------------------------------===//

static LogicalResult checkSameElement(Operation *op) {
  Type x = elementOf(op->getOperand(0)), y = elementOf(op->getResult(0));
  if (x != y)
    return op->emitOpError()
           << "element types differ: x has " << x << ", the result " << y;
  return success();
}

LogicalResult ReshapeOp::verify() {
  auto from = shapeOf(getX()), to = shapeOf(getY());
  auto count = elementCount(to);
  if (!count || count != elementCount(from))
    return emitOpError() << "element counts differ: x is " << shapeText(from)
                         << ", the result " << shapeText(to);
  return checkSameElement(*this);
}

LogicalResult RelayoutOp::verify() {
  auto from = shapeOf(getX()), to = shapeOf(getY());
  if (from != to)
    return emitOpError() << "shapes differ: x is " << shapeText(from)
                         << ", the result " << shapeText(to);
  return checkSameElement(*this);
}

LogicalResult BroadcastOp::verify() {
  auto from = shapeOf(getX()), to = shapeOf(getY());
  auto wider = broadcastShapes(from, to);
  if (!wider || ArrayRef(*wider) != to)
    return emitOpError() << shapeText(from) << " does not broadcast to "
                         << shapeText(to);
  if (!elementCount(to))
    return emitOpError() << "a result of " << shapeText(to)
                         << " has more than 2147483647 elements; split the "
                            "tensor, kernels index with 32 bits";
  return checkSameElement(*this);
}

//===- slice ------------------------------------------------------------===//

LogicalResult SliceOp::inferReturnTypes(MLIRContext *context,
                                        std::optional<Location> location,
                                        Adaptor adaptor,
                                        SmallVectorImpl<Type> &results) {
  auto shape = shapeOf(adaptor.getX());
  auto starts = adaptor.getStarts(), steps = adaptor.getSteps(),
       sizes = adaptor.getSizes();
  int64_t rank = shape.size();
  if (failed(checkRank(location, "starts", starts, rank)) ||
      failed(checkRank(location, "steps", steps, rank)) ||
      failed(checkRank(location, "sizes", sizes, rank)))
    return failure();
  for (int64_t d = 0; d < rank; ++d) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    if (sizes[d] == 0)
      continue;
    // In this order no sum or product overflows.
    bool inside = sizes[d] > 0 && starts[d] >= 0 && starts[d] < shape[d] &&
                  sizes[d] <= shape[d] && steps[d] != 0 && steps[d] >= -kMost &&
                  steps[d] <= kMost;
    int64_t last = inside ? starts[d] + (sizes[d] - 1) * steps[d] : -1;
    if (last < 0 || last >= shape[d])
      return emitOptionalError(location, "dimension ", d, ": ", sizes[d],
                               " elements from ", starts[d], " in steps of ",
                               steps[d], " leave x's ", shape[d]);
  }
  return addResult(location, sizes, elementOf(adaptor.getX()), results);
}

//===- concat -----------------------------------------------------------===//

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *context,
                                         std::optional<Location> location,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &results) {
  auto inputs = adaptor.getInputs();
  if (inputs.empty())
    return emitOptionalError(location, "needs an input");
  Shape shape(shapeOf(inputs[0]));
  int64_t axis = adaptor.getAxis();
  if (failed(checkAxis(location, axis, shape.size())))
    return failure();
  for (auto [i, input] : llvm::enumerate(inputs.drop_front())) {
    auto other = shapeOf(input);
    bool fits = other.size() == shape.size();
    for (size_t d = 0; fits && d < shape.size(); ++d)
      fits = int64_t(d) == axis || other[d] == shape[d];
    if (!fits)
      return emitOptionalError(location, "inputs must differ in dimension ",
                               axis, " alone, but the first is ",
                               shapeText(shapeOf(inputs[0])), ", number ",
                               i + 1, " is ", shapeText(other));
    if (elementOf(input) != elementOf(inputs[0]))
      return emitOptionalError(location,
                               "element types differ: ", elementOf(inputs[0]),
                               " and ", elementOf(input), "; cast one of them");
    // Sizes of 2^31 a summand cannot overflow the sum of a real operand list.
    shape[axis] += other[axis];
    if (!elementCount(shape))
      break;
  }
  return addResult(location, shape, elementOf(inputs[0]), results);
}

int64_t ConcatOp::countFlops() { return 0; }

//===- pad --------------------------------------------------------------===//

LogicalResult PadOp::inferReturnTypes(MLIRContext *context,
                                      std::optional<Location> location,
                                      Adaptor adaptor,
                                      SmallVectorImpl<Type> &results) {
  Shape shape(shapeOf(adaptor.getX()));
  auto low = adaptor.getLow(), high = adaptor.getHigh();
  Type element = elementOf(adaptor.getX());
  if (failed(checkRank(location, "low", low, shape.size())) ||
      failed(checkRank(location, "high", high, shape.size())))
    return failure();
  if (!shapeOf(adaptor.getFill()).empty() ||
      elementOf(adaptor.getFill()) != element)
    return emitOptionalError(location, "fill must be a ", element,
                             " of rank 0, but is ",
                             adaptor.getFill().getType());
  for (size_t d = 0; d < shape.size(); ++d) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    int64_t most = std::max(low[d], high[d]);
    if (low[d] < 0 || high[d] < 0 || most > kMost)
      return emitOptionalError(location, "dimension ", d,
                               ": padding must be 0 to 2147483647, but is ",
                               low[d], " and ", high[d]);
    if (adaptor.getMode() != PadMode::constant && shape[d] == 0 && most > 0)
      return emitOptionalError(location, "dimension ", d, ": ",
                               stringifyPadMode(adaptor.getMode()),
                               " padding repeats elements, but x has none");
    shape[d] += low[d] + high[d];
  }
  return addResult(location, shape, element, results);
}

int64_t PadOp::countFlops() { return 0; }

//===- gather -----------------------------------------------------------===//

LogicalResult GatherOp::inferReturnTypes(MLIRContext *context,
                                         std::optional<Location> location,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &results) {
  auto x = shapeOf(adaptor.getX()), indices = shapeOf(adaptor.getIndices());
  int64_t axis = adaptor.getAxis();
  if (failed(checkAxis(location, axis, x.size())))
    return failure();
  if (x[axis] == 0 && elementCount(indices) != 0)
    return emitOptionalError(location, "x has no element along axis ", axis,
                             ", so there is nothing to take");
  Shape shape(x.take_front(axis));
  llvm::append_range(shape, indices);
  llvm::append_range(shape, x.drop_front(axis + 1));
  return addResult(location, shape, elementOf(adaptor.getX()), results);
}

int64_t GatherOp::countFlops() { return 0; }

} // namespace pascaline
