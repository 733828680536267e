// FuseEpilogue - each anchor and the pointwise ops after it become a group.
//
// A kernel holds each element of its result in a register when it is about to
// store it. Whatever pointwise expression follows costs a few instructions
// there and a whole read and write of the tensor anywhere else.
//
//   before:  %c = conv %x, %w              after:  %y = fused(%x, %w, %b, %r) {
//            %d = add %c, %b                         conv, add, add, relu
//            %e = add %d, %r                       }
//            %y = relu %e
//
// From an anchor we walk the block forward. An op that reads a member joins, if
// it keeps the number of elements and its other operands do not depend on the
// group through ops outside it (the group could then run neither before nor
// after those). Everything else that depends on the group is tainted, and so is
// what depends on that. Diamonds, as in hard-swish, come together by
// themselves. At the end the longest run of joined ops is kept that leaves at
// most two values for others to read: one is best, and two still save the
// second kernel's read of the first value.
//
// Anchors are visited last to first, so that of two convolutions that meet in
// an add the later takes it and reads the other's result.
//
// A value that dimensions were swapped in lies elsewhere than the anchor's
// element; two values meet in an op only if they lie alike.
//
// Test: test/passes/graph/fuse-epilogue.mlir

#include "passes/Passes.h"

#include "compiler/ir/Decisions.h"
#include "compiler/ir/Dialect.h"
#include "passes/graph/Groups.h"

#include "mlir/Analysis/TopologicalSortUtils.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace pascaline {
#define GEN_PASS_DEF_FUSEEPILOGUE
#include "passes/Passes.h.inc"

namespace {

class Epilogue {
public:
  explicit Epilogue(Operation *anchor)
      : anchor(anchor), isInit(isConstantOnly(anchor->getResult(0))) {
    members.push_back(anchor);
    placement[anchor->getResult(0)] = {};
  }

  FusedOp form() {
    walkForward();
    cut();
    recordRefusals();
    return makeGroup(members, liveOut(members.size()));
  }

  size_t size() const { return members.size(); }

private:
  /// How a value's elements lie beside the anchor's: what transposes, of which
  /// shape, are between (reshapes change nothing).
  using Placement = SmallVector<int64_t, 8>;

  void walkForward();
  const char *whyNot(Operation *op);
  Placement placementAfter(Operation *op);
  SmallVector<Value> liveOut(size_t count);
  void cut();
  void resize(size_t count);
  void recordRefusals();

  Operation *anchor;
  bool isInit; // it runs once, at load
  SmallVector<Operation *> members;
  llvm::DenseMap<Value, Placement> placement;         // of the members' results
  llvm::MapVector<Operation *, const char *> refused; // readers, and why
};

void Epilogue::walkForward() {
  llvm::SmallPtrSet<Operation *, 32> tainted;
  for (Operation *op = anchor->getNextNode(); op; op = op->getNextNode()) {
    bool reads = false, isTainted = false;
    for (Value operand : op->getOperands()) {
      reads |= placement.count(operand) > 0;
      Operation *producer = operand.getDefiningOp();
      isTainted |= producer && tainted.contains(producer);
    }
    if (!isTainted && !reads)
      continue;
    const char *refusal = isTainted ? "it also waits for what another kernel "
                                      "makes of this one's result"
                                    : whyNot(op);
    if (!refusal) {
      members.push_back(op);
      placement[op->getResult(0)] = placementAfter(op);
      continue;
    }
    tainted.insert(op);
    if (reads)
      refused[op] = refusal;
  }
}

/// Null where an op that reads a member may join.
const char *Epilogue::whyNot(Operation *op) {
  if (isa<FusedOp, AnchorOpInterface>(op))
    return "each is the core of a kernel of its own";
  if (isa<func::ReturnOp>(op))
    return "it is an output of the model";
  if (!isFusable(op) || isa<BroadcastOp, SliceOp>(op))
    return "its elements are not those of the result";
  if (members.size() >= kMostOps)
    return "the kernel has as many ops as one may have";
  if (isInit && !isConstantOnly(op->getResult(0)))
    return "the result is computed once, when the model is loaded";
  int64_t count = countElements(anchor->getResult(0));
  if (count == 0 || countElements(op->getResult(0)) != count)
    return "it has another number of elements";
  const Placement *first = nullptr;
  for (Value operand : op->getOperands()) {
    auto known = placement.find(operand);
    if (known == placement.end())
      continue;
    if (first && *first != known->second)
      return "it reads the result in two different orders";
    first = &known->second;
  }
  return nullptr;
}

Epilogue::Placement Epilogue::placementAfter(Operation *op) {
  for (Value operand : op->getOperands()) {
    auto known = placement.find(operand);
    if (known == placement.end())
      continue;
    Placement result = known->second;
    if (auto transpose = dyn_cast<TransposeOp>(op)) {
      llvm::append_range(result, transpose.getX().getType().getShape());
      llvm::append_range(result, transpose.getPerm());
    }
    return result;
  }
  llvm_unreachable("a member reads a member");
}

/// The results of the first `count` members that something else reads.
SmallVector<Value> Epilogue::liveOut(size_t count) {
  llvm::SmallPtrSet<Operation *, 32> inside(members.begin(),
                                            members.begin() + count);
  SmallVector<Value> values;
  for (size_t i = 0; i < count; ++i)
    if (llvm::any_of(members[i]->getUsers(),
                     [&](Operation *user) { return !inside.contains(user); }))
      values.push_back(members[i]->getResult(0));
  return values;
}

/// Keeps the longest run of members with few enough results. A reshape at its
/// end is better an alias outside.
void Epilogue::cut() {
  for (size_t count = members.size(); count > 1; --count) {
    if (isa<ReshapeOp>(members[count - 1]))
      continue;
    if (liveOut(count).size() <= kMostResults) {
      resize(count);
      return;
    }
  }
  resize(1);
}

void Epilogue::resize(size_t count) {
  for (Operation *op : llvm::drop_begin(members, count))
    refused[op] = "the kernel would have more than two results";
  members.resize(count);
}

void Epilogue::recordRefusals() {
  llvm::SmallPtrSet<Operation *, 32> inside(members.begin(), members.end());
  for (auto [reader, reason] : refused)
    for (Value operand : reader->getOperands()) {
      Value made = operand;
      while (auto reshape = made.getDefiningOp<ReshapeOp>())
        made = reshape.getX();
      if (inside.contains(made.getDefiningOp()))
        recordRefusal(reader, operand, reason);
    }
}

struct FuseEpilogue : impl::FuseEpilogueBase<FuseEpilogue> {
  void runOnOperation() override {
    if (getOperation().isDeclaration())
      return;
    Block &block = getOperation().getBody().front();
    SmallVector<Operation *> anchors;
    for (Operation &op : block)
      if (isa<AnchorOpInterface>(op))
        anchors.push_back(&op);
    for (Operation *anchor : llvm::reverse(anchors)) {
      if (anchor->use_empty()) {
        anchor->erase();
        continue;
      }
      Epilogue epilogue(anchor);
      FusedOp group = epilogue.form();
      ++numGroups;
      numFused += epilogue.size() - 1;
      // A reader of an early result may now stand before the group.
      if (group.getNumResults() > 1)
        sortTopologically(&block);
    }
  }
};

} // namespace
} // namespace pascaline
