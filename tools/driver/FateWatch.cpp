// FateWatch.cpp - see FateWatch.h.
#include "tools/driver/FateWatch.h"

#include "compiler/ir/Dialect.h"
#include "compiler/ir/NodeNames.h"
#include "passes/graph/Groups.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace pascaline {
namespace {

/// The functions of a module, or one: kernels are none of ours.
SmallVector<func::FuncOp> functionsOf(Operation *op) {
  if (auto function = dyn_cast<func::FuncOp>(op))
    return {function};
  if (auto module = dyn_cast<ModuleOp>(op); module && !module->getParentOp())
    return SmallVector<func::FuncOp>(module.getOps<func::FuncOp>());
  return {};
}

llvm::StringMap<bool> namesIn(func::FuncOp function) {
  llvm::StringMap<bool> names;
  if (function.isDeclaration())
    return names;
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (op.hasTrait<OpTrait::ConstantLike>())
      continue;
    bool isConstant = llvm::all_of(op.getResults(), isConstantOnly);
    for (StringRef name : nodeNames(&op)) {
      bool &known = names.try_emplace(name, true).first->second;
      known &= isConstant;
    }
  }
  return names;
}

} // namespace

void FateWatch::runBeforePass(Pass *pass, Operation *op) {
  if (pass->getArgument().empty())
    return;
  for (func::FuncOp function : functionsOf(op)) {
    llvm::StringMap<bool> names = namesIn(function);
    std::lock_guard<std::mutex> lock(mutex);
    before[function.getName().str()] = std::move(names);
  }
}

// Where a pass replaces functions by programs, launches have the names.
void FateWatch::runAfterPass(Pass *pass, Operation *op) {
  if (pass->getArgument().empty())
    return;
  const char *reason =
      pass->getArgument() == "cse"
          ? "another node computes the same, or nothing reads it"
          : "what is left of the graph needs no operation for it";
  for (func::FuncOp function : functionsOf(op)) {
    std::string name = function.getName().str();
    llvm::StringMap<bool> after = namesIn(function);
    std::lock_guard<std::mutex> lock(mutex);
    for (const auto &[node, isConstant] : before[name])
      if (!after.contains(node) && !log.find(name, Topic::Fate, node))
        log.record({name, Topic::Fate, node.str(), ""},
                   isConstant ? Decision{"folded",
                                         "constants alone decide it, so it was "
                                         "computed when the model was compiled"}
                              : Decision{"eliminated", reason});
  }
}

} // namespace pascaline
