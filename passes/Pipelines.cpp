// Pipelines.cpp - the contents page: every pass, in order, and why there.

#include "passes/Pipelines.h"

#include "passes/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace pascaline {

void buildGraphPipeline(OpPassManager &pm) {
  // Constant folding, dead code, one op for equal ops.
  pm.addPass(createCanonicalizerPass());
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
