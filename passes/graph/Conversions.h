// Conversions.h - says of each transpose that is left who pays for it, and why.
//
// Test: test/passes/graph/assign-layouts.mlir
#pragma once

namespace mlir {
class Block;
} // namespace mlir

namespace pascaline {

/// Records a decision (Topic::Layout) about each transpose in the groups of a
/// function that moves elements.
void recordConversions(mlir::Block &block);

} // namespace pascaline
