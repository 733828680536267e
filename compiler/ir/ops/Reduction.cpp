// Reduction.cpp - shapes, costs and folds of reduce and softmax.
//
// Test: test/ir/reduction.mlir, test/ir/reduction-invalid.mlir
#include "compiler/ir/Constants.h"
#include "compiler/ir/Dialect.h"
#include "compiler/ir/Shapes.h"
#include "compiler/ir/Types.h"
#include "compiler/ir/ops/Common.h"
#include "compiler/ir/ops/Evaluate.h"

using namespace mlir;
using namespace pascaline::detail;

namespace pascaline {

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *context,
                                         std::optional<Location> location,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &results) {
  Shape shape(shapeOf(adaptor.getX()));
  SmallVector<bool> seen(shape.size(), false);
  for (int64_t axis : adaptor.getAxes()) {
    if (axis < 0 || axis >= int64_t(shape.size()))
      return emitOptionalError(location, "axes must be 0 to ",
                               int64_t(shape.size()) - 1, ", but one is ",
                               axis);
    if (seen[axis])
      return emitOptionalError(location, "axes must differ, but ", axis,
                               " comes twice");
    seen[axis] = true;
    shape[axis] = 1;
  }
  return addResult(location, shape, elementOf(adaptor.getX()), results);
}

int64_t ReduceOp::countFlops() {
  return elementCount(shapeOf(getX())).value_or(0);
}

OpFoldResult ReduceOp::fold(FoldAdaptor adaptor) {
  auto shape = shapeOf(getX());
  bool onlyOnes =
      llvm::all_of(getAxes(), [&](int64_t axis) { return shape[axis] == 1; });
  if (onlyOnes && getX().getType() == getType())
    return getX();
  if (elementCount(shape) == 0)
    return reduceOfNothing(*this);
  if (auto value = dyn_cast_or_null<ElementsAttr>(adaptor.getX()))
    return evaluateReduce(*this, value);
  return {};
}

LogicalResult SoftmaxOp::inferReturnTypes(MLIRContext *context,
                                          std::optional<Location> location,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &results) {
  auto type = cast<RankedTensorType>(adaptor.getX().getType());
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= type.getRank())
    return emitOptionalError(location, "axis must be 0 to ", type.getRank() - 1,
                             ", but is ", axis);
  results.push_back(type);
  return success();
}

/// Maximum, difference, exponential, sum and quotient of each element.
int64_t SoftmaxOp::countFlops() {
  return 5 * elementCount(shapeOf(getX())).value_or(0);
}

} // namespace pascaline
