// StridedView - which tensor an anchor's operand is, and its strides.

#include "compiler/ir/Layout.h"
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

bool StridedView::isDense() const {
  return !packed && llvm::all_of(halo, [](int64_t h) { return h == 0; });
}

static StridedView viewOf(BlockArgument argument) {
  auto type = cast<RankedTensorType>(argument.getType());
  MemoryLayout memory = memoryLayout(type);
  StridedView view;
  view.operand = argument.getArgNumber();
  view.element = type.getElementType();
  view.shape.assign(type.getShape().begin(), type.getShape().end());
  view.strides.resize(type.getRank());
  view.offset = memory.offset;
  view.pack = memory.pack;
  for (const MemoryAxis &axis : memory.axes) {
    if (axis.part == MemoryAxis::Slice) {
      view.packed = axis.dim;
      view.sliceStride = axis.stride;
    } else {
      view.strides[axis.dim] = axis.stride;
    }
  }
  for (int64_t i = 0; i < type.getRank(); ++i)
    view.halo.push_back(haloOf(type, i));
  return view;
}

FailureOr<StridedView> viewOf(FusedOp group, Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return viewOf(argument);
  Operation *op = value.getDefiningOp();
  bool widens = isa<CastOp>(op) && elementOf(op->getOperand(0)).isF16() &&
                elementOf(value).isF32();
  if (widens || isa<RelayoutOp>(op))
    return viewOf(group, op->getOperand(0));
  if (!isa<TransposeOp, ReshapeOp, BroadcastOp, SliceOp>(op))
    return group.emitError()
           << "the operand of a contraction is computed by " << op->getName()
           << " in its group; only views of the group's operands are read in "
              "place";
  FailureOr<StridedView> source = viewOf(group, op->getOperand(0));
  if (failed(source))
    return failure();
  if (!source->isDense())
    return group.emitError()
           << "a contraction reads a tensor that is packed "
              "or has a halo through "
           << op->getName() << ", which it cannot do in place";
  StridedView view = *source;
  ArrayRef<int64_t> shape = shapeOf(value);
  view.halo.assign(shape.size(), 0);
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
