// StridedView - which tensor an anchor's operand is, and its strides.

#include "compiler/ir/Shapes.h"
#include "compiler/kernels/contraction/GroupContraction.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace pascaline {

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

static Type elementOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

/// The strides of `view` under another shape, if strides can say it: each run
/// of dimensions that both shapes cut alike is split or merged by itself.
static bool reshapeView(StridedView &view, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 0);
  int64_t from = view.shape.size(), to = shape.size();
  while (to > 0) {
    // A dimension of one element has no stride to keep.
    if (shape[to - 1] == 1) {
      --to;
      continue;
    }
    while (from > 0 && view.shape[from - 1] == 1)
      --from;
    int64_t left = 1, right = 1, inner = view.strides[from - 1];
    int64_t stride = inner;
    do {
      if (left <= right) {
        if (view.strides[from - 1] != inner * left)
          return false; // merged dimensions do not lie one after the other
        left *= view.shape[--from];
      } else {
        stride = inner * right;
        right *= shape[--to];
        strides[to] = stride;
      }
    } while (left != right);
  }
  view.shape.assign(shape.begin(), shape.end());
  view.strides = strides;
  return true;
}

FailureOr<StridedView> viewOf(FusedOp group, Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    StridedView view;
    view.operand = argument.getArgNumber();
    view.element = elementOf(value);
    view.shape.assign(shapeOf(value).begin(), shapeOf(value).end());
    view.strides = rowMajorStrides(view.shape);
    return view;
  }
  Operation *op = value.getDefiningOp();
  if (isa<CastOp>(op) && elementOf(op->getOperand(0)).isF16() &&
      elementOf(value).isF32())
    return viewOf(group, op->getOperand(0));
  if (!isa<TransposeOp, ReshapeOp, BroadcastOp, SliceOp>(op))
    return group.emitError()
           << "the operand of a contraction is computed by " << op->getName()
           << " in its group; only views of the group's operands are read in "
              "place";
  FailureOr<StridedView> source = viewOf(group, op->getOperand(0));
  if (failed(source))
    return failure();
  StridedView view = *source;
  ArrayRef<int64_t> shape = shapeOf(value);
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    for (auto [i, from] : llvm::enumerate(transpose.getPerm())) {
      view.shape[i] = source->shape[from];
      view.strides[i] = source->strides[from];
    }
    return view;
  }
  if (auto slice = dyn_cast<SliceOp>(op)) {
    for (size_t i = 0; i < shape.size(); ++i) {
      view.offset += slice.getStarts()[i] * view.strides[i];
      view.strides[i] *= slice.getSteps()[i];
      view.shape[i] = shape[i];
    }
    return view;
  }
  if (isa<BroadcastOp>(op)) {
    size_t added = shape.size() - view.shape.size();
    view.shape.assign(shape.begin(), shape.end());
    view.strides.assign(shape.size(), 0);
    for (size_t i = added; i < shape.size(); ++i)
      if (source->shape[i - added] == shape[i])
        view.strides[i] = source->strides[i - added];
    return view;
  }
  if (!reshapeView(view, shape))
    return group.emitError() << "a contraction cannot read its operand through "
                                "this reshape in place";
  return view;
}

} // namespace pascaline
