// Pipelines.cpp - the contents page: every pass, in order, and why there.

#include "passes/Pipelines.h"

#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace pascaline {

void PassChoice::addOptional(OpPassManager &pm, std::unique_ptr<Pass> pass) {
  StringRef base = pass->getArgument();
  base.consume_front("pascaline-");
  int run = ++runs[base];
  std::string name = base.str();
  if (run > 1)
    name += "." + std::to_string(run);
  seen.push_back(name);
  if (llvm::is_contained(skipped, name))
    return;
  if (pass->getOpName() == func::FuncOp::getOperationName())
    pm.addNestedPass<func::FuncOp>(std::move(pass));
  else
    pm.addPass(std::move(pass));
}

std::vector<std::string> optionalPasses(bool storeHalf) {
  OpPassManager pm(ModuleOp::getOperationName());
  PassChoice choice;
  buildGraphPipeline(pm, choice);
  if (storeHalf)
    buildHalfPipeline(pm, choice, "");
  buildPlanPipeline(pm, choice, /*chip=*/"");
  return choice.names();
}

std::string checkSkippedPasses(ArrayRef<std::string> names, bool storeHalf) {
  std::vector<std::string> known = optionalPasses(storeHalf);
  for (const std::string &name : names)
    if (!llvm::is_contained(known, name))
      return "skip-pass \"" + name +
             "\" is no optional pass of this compile; these are: " +
             llvm::join(known, ", ");
  return "";
}

void buildGraphPipeline(OpPassManager &pm, PassChoice &choice) {
  // Constant folding, dead code, one op for equal ops.
  choice.addOptional(pm, createCanonicalizerPass());
  choice.addOptional(pm, createCSEPass());
  // Scales and shifts of channels go into weights, before anything is moved.
  choice.addOptional(pm, createFoldBatchNorm());
  // Padding and transposes that their readers can do without.
  choice.addOptional(pm, createAbsorbPads());
  choice.addOptional(pm, createAbsorbTransposes());
  choice.addOptional(pm, createCanonicalizerPass());
  choice.addOptional(pm, createCSEPass());
  // Groups: anchors with what follows, then with what feeds them, then the
  // rest.
  choice.addOptional(pm, createFuseEpilogue());
  choice.addOptional(pm, createFusePrologue());
  // Whatever has no group yet gets one: the plan is made of groups alone, so
  // this one is not optional.
  pm.addNestedPass<func::FuncOp>(createFusePointwise());
  // Constants and producers that no group reads any more; equal groups.
  choice.addOptional(pm, createCSEPass());
}

void buildHalfPipeline(OpPassManager &pm, PassChoice &choice,
                       const std::string &keepFloat) {
  // Groups are final: only what lies in memory between them changes its type.
  StoreHalfOptions options;
  options.keepFloat = keepFloat;
  choice.addOptional(pm, createStoreHalf(options));
  // Groups that became equal.
  choice.addOptional(pm, createCSEPass());
}

void buildPlanPipeline(OpPassManager &pm, PassChoice &choice,
                       const std::string &chip) {
  // How what lies between groups lies there: after StoreHalf, as the size of
  // an element counts.
  AssignLayoutsOptions layouts;
  layouts.chip = chip;
  choice.addOptional(pm, createAssignLayouts(layouts));
  // Groups become kernels and launches over buffers.
  FormLaunchesOptions options;
  options.chip = chip;
  pm.addPass(createFormLaunches(options));
  // What concats join is written where it ends up, and launches run in an order
  // that needs little memory: both before anything has a place.
  choice.addOptional(pm, createPlaceConcats());
  choice.addOptional(pm, createOrderLaunches());
  // Buffers get their places: weights, and an arena shared by lifetimes.
  pm.addPass(createPlanMemory());
}

} // namespace pascaline
