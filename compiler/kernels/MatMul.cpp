// MatMul - matrix products, batched and with any transposition, as
// contractions.
//
// A constant factor is packed. Batch dimensions in which one factor is only
// repeated are rows of the other: [8, 64, 32] x [32, 16] is 512 x 32 by 32
// x 16.
//
// Shape and cost: contraction/Contraction.h.
// Golden: test/ptx/matmul.mlir

#include "compiler/ir/Types.h"
#include "compiler/kernels/AffineIndex.h"
#include "compiler/kernels/Families.h"
#include "compiler/kernels/contraction/GroupContraction.h"

using namespace mlir;

namespace pascaline {

/// A factor as (batch axes, x axis, k axis); `x` and `k` are the places of its
/// last two dimensions.
static Side sideOf(StridedView view, ArrayRef<int64_t> batch, size_t x,
                   size_t k) {
  Side side;
  side.operand.element = view.element;
  side.operand.offset = view.offset;
  side.operand.x = {{view.shape[x], view.strides[x]}};
  side.operand.k = {{view.shape[k], view.strides[k]}};
  size_t own = view.shape.size() - 2;
  for (size_t i = 0; i < batch.size(); ++i) {
    size_t missing = batch.size() - own;
    bool repeats = i < missing || view.shape[i - missing] == 1;
    side.operand.batchStrides.push_back(repeats ? 0
                                                : view.strides[i - missing]);
  }
  // Packed only as one matrix that all of the batch shares.
  if (view.offset == 0 &&
      llvm::all_of(side.operand.batchStrides, [](int64_t s) { return !s; })) {
    WeightPacking packing;
    packing.elementBytes = elementBytes(view.element);
    packing.m = view.shape[x];
    packing.channels = view.shape[k];
    packing.mStride = view.strides[x];
    packing.cStride = view.strides[k];
    side.packing = packing;
    side.packedBatch.assign(batch.size(), 0);
  }
  side.view = std::move(view);
  return side;
}

FailureOr<GeneratedKernel> generateMatMul(FusedOp group, const Chip &chip) {
  auto matmul = cast<MatMulOp>(group.getAnchor());
  FailureOr<StridedView> a = viewOf(group, matmul.getA());
  FailureOr<StridedView> b = viewOf(group, matmul.getB());
  if (failed(a) || failed(b))
    return failure();
  if (!a->isDense() || !b->isDense())
    return group.emitError() << "an operand of its product is packed or has a "
                                "halo, which a product cannot read in place";
  ArrayRef<int64_t> shape = matmul.getY().getType().getShape();

  GroupContraction g;
  g.group = group;
  g.batch.assign(shape.begin(), shape.end() - 2);
  g.m = shape[shape.size() - 2];
  g.n = shape.back();
  size_t rankA = a->shape.size(), rankB = b->shape.size();
  bool swapA = matmul.getTransposeA(), swapB = matmul.getTransposeB();
  g.a = sideOf(*a, g.batch, rankA - (swapA ? 1 : 2), rankA - (swapA ? 2 : 1));
  g.b = sideOf(*b, g.batch, rankB - (swapB ? 2 : 1), rankB - (swapB ? 1 : 2));
  g.k = g.a.operand.kExtent();
  g.rowDim = shape.size() - 2;

  // Batch axes that b does not have become rows of a, innermost first.
  while (!g.batch.empty() && g.b.operand.batchStrides.back() == 0 &&
         !g.a.packing) {
    Axis axis = {g.batch.pop_back_val(), g.a.operand.batchStrides.back()};
    g.a.operand.x.insert(g.a.operand.x.begin(), axis);
    g.m *= axis.extent;
    for (Side *side : {&g.a, &g.b}) {
      side->operand.batchStrides.pop_back();
      if (!side->packedBatch.empty())
        side->packedBatch.pop_back();
    }
  }
  int64_t m = g.m, n = g.n;
  SmallVector<int64_t> batch = g.batch;
  g.row = [=](ArrayRef<AffineIndex> at, AffineIndex row) {
    AffineIndex index;
    for (auto [coordinate, extent] : llvm::zip(at, batch))
      index = index * extent + coordinate;
    return (index * m + row) * n;
  };
  return generateContraction(g, chip);
}

} // namespace pascaline
