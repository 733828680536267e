// FusePrologue - views and cheap producers move into the anchor that reads
// them.
//
// A transposed, sliced or broadcast operand is the same memory read with other
// strides, so any anchor reads it in place. A pointwise producer is computed
// again for each time that its element is read: free where an anchor reads each
// element once or a few times (a reduction, softmax, concat, pad, gather, a
// pool without overlap), a waste in a convolution that reads it nine times.
//
//   before:  %s = mul %x, %x               after:  %y = fused(%x) {
//            %y = fused(%s) { reduce }               mul, reduce
//                                                  }
//
// What an epilogue reads beside the anchor's result is read once, so any
// pointwise producer of it may come in.
//
// A contraction widens halves as it stages them, so a cast from f16 comes in
// there as well.
//
// A producer that others read too is repeated only where that is as cheap as
// reading it. What follows from constants alone stays outside: it is computed
// once, when the model is loaded. A reshape outside is an alias and costs
// nothing, so it comes in only in front of something else that does.
//
// Test: test/passes/graph/fuse-prologue.mlir

#include "passes/Passes.h"

#include "compiler/ir/Decisions.h"
#include "compiler/ir/Dialect.h"
#include "passes/graph/Groups.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace pascaline {
#define GEN_PASS_DEF_FUSEPROLOGUE
#include "passes/Passes.h.inc"

namespace {

/// What may come between memory and an anchor's operand.
enum class Reach { StridedViews, Views, Pointwise };

bool hasOverlap(ArrayRef<int64_t> window, ArrayRef<int64_t> strides) {
  return llvm::any_of(llvm::zip_equal(window, strides), [](auto pair) {
    return std::get<0>(pair) > std::get<1>(pair);
  });
}

Reach reachOf(Operation *anchor) {
  if (isa<ConvOp, MatMulOp>(anchor))
    return Reach::StridedViews;
  if (auto pool = dyn_cast<MaxPoolOp>(anchor))
    return hasOverlap(pool.getWindow(), pool.getStrides()) ? Reach::Views
                                                           : Reach::Pointwise;
  if (auto pool = dyn_cast<AvgPoolOp>(anchor))
    return hasOverlap(pool.getWindow(), pool.getStrides()) ? Reach::Views
                                                           : Reach::Pointwise;
  return Reach::Pointwise;
}

/// Whether something in the body leads from `value` to the anchor.
bool feeds(Value value, Operation *anchor) {
  SmallVector<Operation *> pending(value.getUsers());
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!pending.empty()) {
    Operation *user = pending.pop_back_val();
    if (user == anchor)
      return true;
    if (seen.insert(user).second && user->isBeforeInBlock(anchor))
      llvm::append_range(pending, user->getUsers());
  }
  return false;
}

/// From half to float, which a contraction does as it fills shared memory.
bool isWidening(Operation *op) {
  auto cast = dyn_cast<CastOp>(op);
  return cast && getElementTypeOrSelf(cast.getX().getType()).isF16() &&
         getElementTypeOrSelf(cast.getY().getType()).isF32();
}

bool reaches(Reach reach, Operation *producer) {
  switch (reach) {
  case Reach::StridedViews:
    return isa<TransposeOp, SliceOp, BroadcastOp>(producer) ||
           isWidening(producer);
  case Reach::Views:
    return isView(producer);
  case Reach::Pointwise:
    return isFusable(producer);
  }
  llvm_unreachable("every reach is above");
}

/// Null where a group may compute an input itself.
const char *whyNot(FusedOp group, Value value, Reach reach) {
  Operation *producer = value.getDefiningOp();
  if (!producer || isConstantOnly(value))
    return "it is computed once, when the model is loaded";
  if (!reaches(reach, producer))
    return isFusable(producer)
               ? "it would be computed again for each time it is read"
               : "each is the core of a kernel of its own";
  bool isOwn = llvm::all_of(producer->getUsers(),
                            [&](Operation *user) { return user == group; });
  if (auto reshape = dyn_cast<ReshapeOp>(producer)) {
    Operation *behind = reshape.getX().getDefiningOp();
    // From inside, the producer behind will have one reader: the group.
    if (!behind || !reaches(reach, behind))
      return "behind the reshape is nothing that could be computed here";
    if (!isCheapToRepeat(behind) && !(isOwn && behind->hasOneUse()))
      return "others read it too, and repeating it costs more than reading it";
    return nullptr;
  }
  if (!isOwn && !isCheapToRepeat(producer))
    return "others read it too, and repeating it costs more than reading it";
  return nullptr;
}

struct FusePrologue : impl::FusePrologueBase<FusePrologue> {
  void runOnOperation() override {
    SmallVector<FusedOp> groups(getOperation().getOps<FusedOp>());
    for (FusedOp group : llvm::reverse(groups))
      if (Operation *anchor = group.getAnchor()) {
        while (pullOne(group, anchor))
          ++numFused;
        recordRefusals(group, anchor);
      }
  }

  static Reach reachOfInput(FusedOp group, unsigned input, Operation *anchor) {
    return feeds(group.getBody().front().getArgument(input), anchor)
               ? reachOf(anchor)
               : Reach::Pointwise;
  }

  bool pullOne(FusedOp group, Operation *anchor) {
    if (group.getBody().front().getOperations().size() >= kMostOps)
      return false;
    for (unsigned i = 0; i < group.getInputs().size(); ++i) {
      if (whyNot(group, group.getInputs()[i], reachOfInput(group, i, anchor)))
        continue;
      pullIn(group, i);
      return true;
    }
    return false;
  }

  /// FuseEpilogue has spoken about what other groups make.
  static void recordRefusals(FusedOp group, Operation *anchor) {
    for (auto [i, value] : llvm::enumerate(group.getInputs())) {
      Operation *producer = value.getDefiningOp();
      if (!producer || !isFusable(producer))
        continue;
      const char *reason = whyNot(group, value, reachOfInput(group, i, anchor));
      recordRefusal(group, value,
                    reason ? reason
                           : "the kernel has as many ops as one may have");
    }
  }
};

} // namespace
} // namespace pascaline
