// Pipelines.h - the compiler's contents page: which passes run, in which order.
#pragma once

#include <string>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace pascaline {

/// Graph to fused graph; on the module.
void buildGraphPipeline(mlir::OpPassManager &pm);

/// After that one: f16 storage, but for the nodes that `keepFloat` (a regular
/// expression; may be empty) matches.
void buildHalfPipeline(mlir::OpPassManager &pm, const std::string &keepFloat);

/// Fused graph to plan; on the module.
void buildPlanPipeline(mlir::OpPassManager &pm, const std::string &chip);

/// A kernel as generated to the llvm dialect; on the module inside a
/// plan.kernel.
void buildKernelLoweringPipeline(mlir::OpPassManager &pm);

} // namespace pascaline
