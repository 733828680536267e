// Groups.cpp - making and growing groups.
#include "passes/graph/Groups.h"

#include "compiler/ir/Constants.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace pascaline {

bool isView(Operation *op) {
  return isa<TransposeOp, ReshapeOp, BroadcastOp, SliceOp>(op);
}

bool isFusable(Operation *op) {
  return isa<ScalarOpInterface>(op) || isView(op);
}

bool isCheapToRepeat(Operation *op) {
  if (isView(op))
    return true;
  if (!isa<NegOp, AbsOp, ReluOp, NotOp, CastOp, AddOp, SubOp, MulOp, MaxOp,
           MinOp, AndOp, OrOp, XorOp, CompareOp, SelectOp>(op))
    return false;
  int64_t count = countElements(op->getResult(0));
  llvm::SmallPtrSet<Value, 3> large;
  for (Value operand : op->getOperands())
    if (countElements(operand) == count && !constantValue(operand))
      large.insert(operand);
  return large.size() <= 1;
}

bool isConstantOnly(Value value) {
  SmallVector<Value> pending = {value};
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val().getDefiningOp();
    if (!op)
      return false;
    if (!isa<ConstantOp>(op) && seen.insert(op).second)
      llvm::append_range(pending, op->getOperands());
  }
  return true;
}

/// Whether a user reads a constant better as a literal of the code. Anchors
/// want memory, which they pack; all but pad, for its fill.
static bool isLiteral(Value operand, Operation *user) {
  ElementsAttr value = constantValue(operand);
  if (!value || !value.isSplat())
    return false;
  auto pad = dyn_cast<PadOp>(user);
  return isFusable(user) || (pad && operand == pad.getFill());
}

/// Copies `op` to the builder's place. `input` gives the block argument of an
/// operand that the body does not make.
static Operation *copyInto(Operation *op, OpBuilder &builder, IRMapping &map,
                           function_ref<Value(Value)> input) {
  IRMapping own = map;
  for (Value operand : op->getOperands()) {
    if (own.contains(operand))
      continue;
    Value inside = isLiteral(operand, op)
                       ? builder.clone(*operand.getDefiningOp())->getResult(0)
                       : input(operand);
    own.map(operand, inside);
  }
  Operation *copy = builder.clone(*op, own);
  map.map(op->getResults(), copy->getResults());
  return copy;
}

FusedOp makeGroup(ArrayRef<Operation *> members, ValueRange yields) {
  Operation *last = members.back();
  OpBuilder builder(last);
  SmallVector<Location> locations;
  for (Operation *member : members)
    locations.push_back(member->getLoc());
  auto group =
      builder.create<FusedOp>(FusedLoc::get(builder.getContext(), locations),
                              yields.getTypes(), ValueRange());
  Block &body = group.getBody().emplaceBlock();
  builder.setInsertionPointToEnd(&body);

  llvm::SetVector<Value> inputs;
  IRMapping map;
  auto input = [&](Value value) -> Value {
    if (inputs.insert(value))
      return body.addArgument(value.getType(), value.getLoc());
    return body.getArgument(llvm::find(inputs, value) - inputs.begin());
  };
  for (Operation *member : members)
    copyInto(member, builder, map, input);
  SmallVector<Value> inside;
  for (Value value : yields)
    inside.push_back(map.lookup(value));
  builder.create<YieldOp>(group.getLoc(), inside);
  group.getInputsMutable().assign(inputs.getArrayRef());

  for (auto [value, result] : llvm::zip_equal(yields, group.getOutputs()))
    value.replaceAllUsesWith(result);
  for (Operation *member : llvm::reverse(members))
    member->erase();
  return group;
}

void pullIn(FusedOp group, unsigned index) {
  Operation *producer = group.getInputs()[index].getDefiningOp();
  Block &body = group.getBody().front();
  BlockArgument old = body.getArgument(index);
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  IRMapping map;
  // The first new input takes the place of the old one, whose argument is
  // meanwhile one further on, as are all behind it.
  bool isReplaced = false;
  auto input = [&](Value value) -> Value {
    auto known = llvm::find(group.getInputs(), value);
    if (known != group.getInputs().end()) {
      unsigned i = known - group.getInputs().begin();
      return body.getArgument(isReplaced && i > index ? i + 1 : i);
    }
    if (isReplaced) {
      group.getInputsMutable().append(value);
      return body.addArgument(value.getType(), value.getLoc());
    }
    isReplaced = true;
    group->setOperand(index, value);
    return body.insertArgument(index, value.getType(), value.getLoc());
  };
  Operation *copy = copyInto(producer, builder, map, input);
  old.replaceAllUsesWith(copy->getResult(0));
  body.eraseArgument(old.getArgNumber());
  if (!isReplaced)
    group.getInputsMutable().erase(index);
  if (producer->use_empty())
    producer->erase();
}

} // namespace pascaline
