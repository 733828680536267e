// SliceSum - add up the partial sums of the blocks that share an output tile.
//
// Every block writes its threads' sums to the workspace and raises the tile's
// counter; the block that finds itself last adds all slices in order (its own
// is read back too, so the order never depends on who was last), and sets the
// counter to zero for the next launch. The other blocks end.
//
// Workspace: [tile][slice][sums a thread / 4][thread] of 128-bit words.
// Counters:  [tile] u32, zero before the first launch and after every one.
#pragma once

#include "compiler/kernels/KernelBuilder.h"

namespace pascaline {

struct SliceSum {
  mlir::Value workspace, counters;
  mlir::Value outputTile, slice; ///< i32
  mlir::Value shared; ///< a word of shared memory, free after a barrier
  int64_t slices, threads;
};

/// The sums over all slices, in the given order, in the last block to arrive;
/// no other block runs what is emitted after.
llvm::SmallVector<mlir::Value> sumSlices(KernelBuilder &b,
                                         llvm::ArrayRef<mlir::Value> sums,
                                         const SliceSum &where);

} // namespace pascaline
