// FusePointwise - what is left becomes pointwise groups and copies.
//
// Each op that no anchor took and nothing else will read in passing is the
// root of a group, last to first. The group grows backwards over pointwise ops
// and views, and an op joins
//   - if only the group reads it,
//   - if repeating it costs no more than reading its result (then a copy
//     joins), or
//   - as a second result, if it has the root's shape and no path leads from
//     its other readers back into the group.
// A chain of any length over one shape is then one launch; a [C] vector that
// scales it is computed with it, which is cheaper than a launch.
//
//   before:  %d = sub %x, %mean            after:  %y = fused(%x, %mean, %v) {
//            %s = add %v, 1e-5                       sub, add, sqrt, div
//            %r = sqrt %s                          }
//            %y = div %d, %r
//
// Reshapes at the edge stay outside, where they are aliases. What follows from
// constants alone forms groups of its own, which run once, at load.
//
// Test: test/passes/graph/fuse-pointwise.mlir

#include "passes/Passes.h"

#include "compiler/ir/Decisions.h"
#include "compiler/ir/Dialect.h"
#include "passes/graph/Groups.h"

#include "mlir/Analysis/TopologicalSortUtils.h"

using namespace mlir;

namespace pascaline {
#define GEN_PASS_DEF_FUSEPOINTWISE
#include "passes/Passes.h.inc"

namespace {

class PointwiseGroup {
public:
  explicit PointwiseGroup(Operation *root)
      : root(root), isInit(isConstantOnly(root->getResult(0))) {
    members.insert(root);
    results.push_back(root->getResult(0));
  }

  FusedOp form() {
    while (Operation *producer = latestCandidate())
      decide(producer);
    dropEdgeReshapes();
    SmallVector<Operation *> ordered(members.begin(), members.end());
    llvm::sort(ordered, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    return makeGroup(ordered, results);
  }

  size_t size() const { return members.size(); }

private:
  Operation *latestCandidate();
  void decide(Operation *producer);
  void refuse(Operation *producer, const char *reason);
  bool isOwn(Operation *producer);
  bool wouldCycle(Operation *producer);
  void joinCopy(Operation *producer);
  void dropEdgeReshapes();

  Operation *root;
  bool isInit;
  llvm::SmallPtrSet<Operation *, 16> members, refused;
  SmallVector<Value> results;
};

/// The last op in the block that a member reads and that is not decided yet:
/// all of its readers that could join have been.
Operation *PointwiseGroup::latestCandidate() {
  Operation *latest = nullptr;
  if (members.size() >= kMostOps)
    return nullptr;
  for (Operation *member : members)
    for (Value operand : member->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (!producer || !isFusable(producer) || members.contains(producer) ||
          refused.contains(producer) || isConstantOnly(operand) != isInit)
        continue;
      if (!latest || latest->isBeforeInBlock(producer))
        latest = producer;
    }
  return latest;
}

bool PointwiseGroup::isOwn(Operation *producer) {
  return llvm::all_of(producer->getUsers(),
                      [&](Operation *user) { return members.contains(user); });
}

void PointwiseGroup::decide(Operation *producer) {
  auto shape = [](Operation *op) {
    return cast<RankedTensorType>(op->getResult(0).getType()).getShape();
  };
  if (isOwn(producer)) {
    members.insert(producer);
  } else if (isCheapToRepeat(producer)) {
    joinCopy(producer);
  } else if (results.size() >= kMostResults) {
    refuse(producer, "others read it too, and the kernel has two results");
  } else if (shape(producer) != shape(root)) {
    refuse(producer, "others read it too, and its shape is another");
  } else if (wouldCycle(producer)) {
    refuse(producer, "others read it too, and this kernel waits for them");
  } else {
    members.insert(producer);
    results.push_back(producer->getResult(0));
  }
}

void PointwiseGroup::refuse(Operation *producer, const char *reason) {
  refused.insert(producer);
  for (Operation *user : producer->getUsers())
    if (members.contains(user))
      recordRefusal(user, producer->getResult(0), reason);
}

/// Whether a path leads from a reader of `producer` outside the group into it.
bool PointwiseGroup::wouldCycle(Operation *producer) {
  llvm::SmallPtrSet<Operation *, 16> outside;
  for (Operation *op = producer->getNextNode(); op; op = op->getNextNode()) {
    bool depends = llvm::any_of(op->getOperands(), [&](Value operand) {
      Operation *from = operand.getDefiningOp();
      return from && (from == producer || outside.contains(from));
    });
    if (members.contains(op)) {
      bool isReached = llvm::any_of(op->getOperands(), [&](Value operand) {
        Operation *from = operand.getDefiningOp();
        return from && outside.contains(from);
      });
      if (isReached)
        return true;
    } else if (depends) {
      outside.insert(op);
    }
    if (op == root)
      break;
  }
  return false;
}

void PointwiseGroup::joinCopy(Operation *producer) {
  OpBuilder builder(producer);
  Operation *copy = builder.clone(*producer);
  producer->replaceUsesWithIf(copy->getResults(), [&](OpOperand &use) {
    return members.contains(use.getOwner());
  });
  members.insert(copy);
}

void PointwiseGroup::dropEdgeReshapes() {
  for (bool changed = true; changed;) {
    changed = false;
    for (Operation *member : members) {
      Operation *producer =
          isa<ReshapeOp>(member) ? member->getOperand(0).getDefiningOp() : root;
      if (producer && members.contains(producer))
        continue;
      members.erase(member);
      changed = true;
      break;
    }
  }
}

/// An op that a group must be made for; reshapes are aliases. No anchor is left
/// where fuse-epilogue has run.
bool needsGroup(Operation *op) {
  return isa<AnchorOpInterface>(op) || (isFusable(op) && !isa<ReshapeOp>(op));
}

struct FusePointwise : impl::FusePointwiseBase<FusePointwise> {
  void runOnOperation() override {
    if (getOperation().isDeclaration())
      return;
    Block &block = getOperation().getBody().front();
    while (Operation *root = lastRoot(block)) {
      if (root->use_empty()) {
        root->erase();
        continue;
      }
      if (isa<AnchorOpInterface>(root)) {
        makeGroup(root, root->getResults());
        ++numGroups;
        continue;
      }
      PointwiseGroup group(root);
      bool isMulti = group.form().getNumResults() > 1;
      ++numGroups;
      numFused += group.size() - 1;
      // A reader of a second result may now stand before the group.
      if (isMulti)
        sortTopologically(&block);
    }
  }

  static Operation *lastRoot(Block &block) {
    for (Operation &op : llvm::reverse(block))
      if (needsGroup(&op))
        return &op;
    return nullptr;
  }
};

} // namespace
} // namespace pascaline
