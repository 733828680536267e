// Pipelines.cpp - the contents page: every pass, in order, and why there.

#include "passes/Pipelines.h"

#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace pascaline {

void buildGraphPipeline(OpPassManager &pm) {
  // Constant folding, dead code, one op for equal ops.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // Scales and shifts of channels go into weights, before anything is moved.
  pm.addNestedPass<func::FuncOp>(createFoldBatchNorm());
  // Padding and transposes that their readers can do without.
  pm.addNestedPass<func::FuncOp>(createAbsorbPads());
  pm.addNestedPass<func::FuncOp>(createAbsorbTransposes());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // Groups: anchors with what follows, then with what feeds them, then the
  // rest.
  pm.addNestedPass<func::FuncOp>(createFuseEpilogue());
  pm.addNestedPass<func::FuncOp>(createFusePrologue());
  pm.addNestedPass<func::FuncOp>(createFusePointwise());
  // Constants and producers that no group reads any more; equal groups.
  pm.addPass(createCSEPass());
}

void buildHalfPipeline(OpPassManager &pm, const std::string &keepFloat) {
  // Groups are final: only what lies in memory between them changes its type.
  StoreHalfOptions options;
  options.keepFloat = keepFloat;
  pm.addNestedPass<func::FuncOp>(createStoreHalf(options));
  // Groups that became equal.
  pm.addPass(createCSEPass());
}

void buildPlanPipeline(OpPassManager &pm, const std::string &chip) {
  // Groups become kernels and launches over buffers.
  FormLaunchesOptions options;
  options.chip = chip;
  pm.addPass(createFormLaunches(options));
  // Buffers get their places: weights, and an arena shared by lifetimes.
  pm.addPass(createPlanMemory());
}

} // namespace pascaline
