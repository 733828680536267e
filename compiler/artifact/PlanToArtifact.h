// PlanToArtifact - a planned, compiled module to what the artifact holds.
//
// Test: test/models (end to end)
#pragma once

#include "compiler/artifact/ArtifactWriter.h"

#include "mlir/IR/BuiltinOps.h"

#include <vector>

namespace pascaline {

struct Chip;

/// Contents and the bytes that they borrow.
struct PlannedArtifact {
  ArtifactContents contents;
  std::vector<char> weights;
};

/// Reads the plan.program and plan.kernels of a module whose memory is planned
/// and whose kernels have their PTX. `model` is a name for people. Emits an
/// error where the module is not that far.
llvm::LogicalResult planToArtifact(mlir::ModuleOp module, llvm::StringRef model,
                                   const Chip &chip, PlannedArtifact &artifact);

} // namespace pascaline
