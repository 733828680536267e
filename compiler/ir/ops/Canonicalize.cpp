// Canonicalize.cpp - ops that are a simpler op in disguise.
//
// A reshape is an alias of memory, a slice is read in place with strides; the
// ops here would each be a kernel, or a copy.
//
// Test: test/ir/canonicalize.mlir
#include "compiler/ir/Constants.h"
#include "compiler/ir/Dialect.h"
#include "compiler/ir/Shapes.h"
#include "compiler/ir/Types.h"
#include "compiler/ir/ops/Common.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace pascaline::detail;

namespace pascaline {

/// A transpose that moves dimensions of one element past others keeps the
/// order of the elements.
LogicalResult TransposeOp::canonicalize(TransposeOp op,
                                        PatternRewriter &rewriter) {
  auto shape = shapeOf(op.getX());
  int64_t last = -1;
  for (int64_t d : op.getPerm()) {
    if (shape[d] == 1)
      continue;
    if (d < last)
      return rewriter.notifyMatchFailure(op, "it moves elements");
    last = d;
  }
  rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getX());
  return success();
}

LogicalResult BroadcastOp::canonicalize(BroadcastOp op,
                                        PatternRewriter &rewriter) {
  if (elementCount(shapeOf(op.getX())) != elementCount(shapeOf(op.getY())))
    return rewriter.notifyMatchFailure(op, "it repeats elements");
  rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getX());
  return success();
}

/// What broadcasts batches only is what matmul does itself.
static Value skipBatchBroadcast(Value operand) {
  auto broadcast = operand.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return operand;
  auto from = shapeOf(broadcast.getX()), to = shapeOf(operand);
  if (from.size() < 2 || from.take_back(2) != to.take_back(2))
    return operand;
  return broadcast.getX();
}

LogicalResult MatMulOp::canonicalize(MatMulOp op, PatternRewriter &rewriter) {
  Value a = skipBatchBroadcast(op.getA()), b = skipBatchBroadcast(op.getB());
  if (a == op.getA() && b == op.getB())
    return rewriter.notifyMatchFailure(op, "no operand is a broadcast batch");
  auto batch =
      broadcastShapes(shapeOf(a).drop_back(2), shapeOf(b).drop_back(2));
  if (ArrayRef<int64_t>(*batch) != shapeOf(op.getY()).drop_back(2))
    return rewriter.notifyMatchFailure(op, "both sides were repeated");
  rewriter.modifyOpInPlace(op, [&] {
    op.getAMutable().assign(a);
    op.getBMutable().assign(b);
  });
  return success();
}

/// Constant indices in even steps: what split and select are exported as.
LogicalResult GatherOp::canonicalize(GatherOp op, PatternRewriter &rewriter) {
  auto indices = integerValues(op.getIndices());
  auto shape = shapeOf(op.getX());
  int64_t axis = op.getAxis(), size = shape[axis];
  if (!indices || indices->empty())
    return rewriter.notifyMatchFailure(op, "the indices are no constant");
  for (int64_t &index : *indices)
    index = std::clamp<int64_t>(index < 0 ? index + size : index, 0, size - 1);
  int64_t step = indices->size() == 1 ? 1 : (*indices)[1] - (*indices)[0];
  for (size_t i = 1; i < indices->size(); ++i)
    if (step == 0 || (*indices)[i] - (*indices)[i - 1] != step)
      return rewriter.notifyMatchFailure(op,
                                         "the indices are not evenly apart");
  SmallVector<int64_t> starts(shape.size(), 0), steps(shape.size(), 1),
      sizes(shape);
  starts[axis] = indices->front();
  steps[axis] = step;
  sizes[axis] = indices->size();
  Value slice =
      rewriter.create<SliceOp>(op.getLoc(), op.getX(), starts, steps, sizes);
  rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), slice);
  return success();
}

} // namespace pascaline
