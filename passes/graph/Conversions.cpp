// Conversions.cpp - see the header.
#include "passes/graph/Conversions.h"

#include "compiler/ir/Decisions.h"
#include "compiler/ir/Dialect.h"
#include "passes/graph/TransposeMoves.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace pascaline {

/// Whether a value follows from what an op makes.
static bool follows(Value value, Operation *from) {
  SmallVector<Value> pending = {value};
  llvm::DenseSet<Operation *> seen;
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val().getDefiningOp();
    if (op == from)
      return true;
    if (op && seen.insert(op).second)
      llvm::append_range(pending, op->getOperands());
  }
  return false;
}

/// What keeps the order of dimensions on the side that a group without anchor
/// reads.
static StringRef before(FusedOp group) {
  for (Value input : group.getInputs()) {
    Operation *producer = input.getDefiningOp();
    if (!producer)
      return "the model's input comes in one order";
    if (isa<ReshapeOp>(producer))
      return "a reshape gives one order";
  }
  return "what it reads is stored in one order for other readers";
}

/// And on the side of its readers.
static StringRef after(FusedOp group) {
  for (Operation *user : group->getUsers()) {
    if (isa<func::ReturnOp>(user))
      return "the model returns another";
    if (isa<ReshapeOp>(user))
      return "a reshape wants another";
  }
  return "its readers want another";
}

void recordConversions(Block &block) {
  for (auto group : block.getOps<FusedOp>()) {
    Operation *anchor = group.getAnchor();
    bool computes = llvm::any_of(group.getBody().front(), [](Operation &op) {
      return isa<ScalarOpInterface>(op);
    });
    for (auto transpose : group.getBody().front().getOps<TransposeOp>()) {
      if (keepsOrder(transpose.getX().getType().getShape(),
                     transpose.getPerm()))
        continue;
      if (!anchor)
        recordDecision(transpose, Topic::Layout,
                       computes ? "converted in a pointwise kernel"
                                : "converted in a kernel of its own",
                       before(group) + ", " + after(group));
      else if (follows(transpose.getY(), anchor))
        recordDecision(transpose, Topic::Layout, "converted in a store",
                       anchor->getName().stripDialect() +
                           " makes one order, its readers want another");
      else
        recordDecision(transpose, Topic::Layout, "converted in a load",
                       anchor->getName().stripDialect() +
                           " wants another order and reads it in place");
    }
  }
}

} // namespace pascaline
