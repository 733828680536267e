// Decisions.cpp - see Decisions.h.
#include "compiler/ir/Decisions.h"

#include "compiler/ir/Dialect.h"
#include "compiler/ir/NodeNames.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/raw_ostream.h"

#include <functional>

using namespace mlir;

namespace pascaline {

llvm::StringRef topicName(Topic topic) {
  switch (topic) {
  case Topic::Fate:
    return "fate";
  case Topic::Fusion:
    return "fusion";
  case Topic::Precision:
    return "precision";
  case Topic::Layout:
    return "layout";
  case Topic::Memory:
    return "memory";
  }
  llvm_unreachable("every topic is above");
}

void DecisionLog::listenTo(DialectRegistry &registry) {
  std::function<void(MLIRContext *, PascalineDialect *)> attach =
      [this](MLIRContext *, PascalineDialect *dialect) {
        dialect->decisions = this;
      };
  registry.addExtension(std::move(attach));
}

DecisionLog *DecisionLog::of(MLIRContext *context) {
  auto *dialect = context->getLoadedDialect<PascalineDialect>();
  return dialect ? dialect->decisions : nullptr;
}

void DecisionLog::record(Key key, Decision decision) {
  std::lock_guard<std::mutex> lock(mutex);
  decisions[std::move(key)] = std::move(decision);
}

const std::vector<OnnxNode> &DecisionLog::getNodes(StringRef function) const {
  static const std::vector<OnnxNode> none;
  auto found = nodes.find(function.str());
  return found == nodes.end() ? none : found->second;
}

const Decision *DecisionLog::find(StringRef function, Topic topic,
                                  StringRef node) const {
  auto found = decisions.find({function.str(), topic, node.str(), ""});
  return found == decisions.end() ? nullptr : &found->second;
}

void DecisionLog::print(llvm::raw_ostream &os) const {
  for (const auto &[key, decision] : decisions) {
    os << topicName(key.topic) << ": \"" << key.node << '"';
    if (!key.other.empty())
      os << " with \"" << key.other << '"';
    os << ": " << decision.choice << ": " << decision.reason << '\n';
  }
}

/// The name of the function or program around an op.
static std::string functionOf(Operation *op) {
  while (op->getParentOp() && !isa<ModuleOp>(op->getParentOp()))
    op = op->getParentOp();
  auto name = op->getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName());
  return name ? name.str() : "";
}

void recordDecision(Operation *op, Topic topic, const llvm::Twine &choice,
                    const llvm::Twine &reason) {
  DecisionLog *log = DecisionLog::of(op->getContext());
  if (!log)
    return;
  std::string function = functionOf(op);
  for (StringRef node : nodeNames(op))
    log->record({function, topic, node.str(), ""},
                {choice.str(), reason.str()});
}

/// The op that makes a value: inside a group, the one that it yields; behind a
/// reshape, which is an alias, the one in front.
static Operation *makerOf(Value value) {
  Operation *op = value.getDefiningOp();
  while (isa_and_nonnull<ReshapeOp>(op)) {
    value = op->getOperand(0);
    op = value.getDefiningOp();
  }
  auto group = dyn_cast_or_null<FusedOp>(op);
  if (!group)
    return op;
  unsigned index = cast<OpResult>(value).getResultNumber();
  Operation *inside = group.getYield().getOperand(index).getDefiningOp();
  return inside ? inside : op;
}

void recordRefusal(Operation *reader, Value value, const llvm::Twine &reason) {
  DecisionLog *log = DecisionLog::of(reader->getContext());
  Operation *maker = log ? makerOf(value) : nullptr;
  if (!maker || isa<ConstantOp>(maker))
    return;
  llvm::SetVector<StringRef> readers;
  auto add = [&](Operation *op) {
    for (StringRef name : nodeNames(op))
      readers.insert(name);
  };
  if (auto group = dyn_cast<FusedOp>(reader)) {
    for (auto [input, argument] : llvm::zip_equal(
             group.getInputs(), group.getBody().front().getArguments()))
      if (input == value)
        for (Operation *inside : argument.getUsers())
          add(inside);
  } else {
    add(reader);
  }
  std::string function = functionOf(reader);
  for (StringRef made : nodeNames(maker))
    for (StringRef read : readers)
      if (made != read)
        log->record({function, Topic::Fusion, read.str(), made.str()},
                    {"not fused", reason.str()});
}

} // namespace pascaline
