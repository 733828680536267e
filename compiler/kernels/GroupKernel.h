// GroupKernel.h - a kernel whose parameters are its group's operands and
// results, as every family but the packed contractions has it.
//
//   GroupKernel kernel(group, 256);
//   KernelBuilder &b = kernel.builder();
//   ... b and kernel.emitter() write the body ...
//   return kernel.finish(grid, "4 elements a thread");
//
// Test: test/compiler/PointwiseTest.cpp
#pragma once

#include "compiler/ir/Types.h"
#include "compiler/kernels/ExpressionEmitter.h"
#include "compiler/kernels/Generator.h"
#include "compiler/kernels/KernelBuilder.h"

namespace pascaline {

/// "conv_add_relu": the kinds of a group's ops in order; a PTX identifier.
std::string entryName(FusedOp group);

/// Arithmetic of the group, and the bytes of its operands and results.
int64_t countFlops(FusedOp group);
int64_t countBytes(FusedOp group);

class GroupKernel {
public:
  /// What few kernels ask for.
  struct Extras {
    int64_t minBlocks = 0; ///< as KernelBuilder's
    int64_t workspaceBytes = 0, counterWords = 0;
    /// Each thread reads elements of the group's shape where it stores results,
    /// before it stores any: operands read at no other place are replaceable.
    bool storesInPlace = false;
  };

  /// Starts the entry with `threads` threads a block: one pointer for each
  /// operand that the body reads, then one for each result, then workspace and
  /// counters where they have a size. Zeroes the halos of results.
  GroupKernel(FusedOp group, int64_t threads, Extras extras = {0, 0, 0, false});

  KernelBuilder &builder() { return kernel; }
  ExpressionEmitter &emitter() { return values; }

  /// The pointer of an operand that the body reads.
  mlir::Value input(unsigned operand);
  mlir::Value workspace(); ///< null without
  mlir::Value counters();  ///< null without
  /// Asks for a constant operand in another layout than its own.
  void setPacking(unsigned operand, const WeightPacking &packing);

  /// This thread's number in a grid along x of just enough blocks for `count`
  /// threads; the threads beyond have left.
  AffineIndex flatThread(int64_t count);

  /// Ends the kernel. Emits the emitter's problem, if any, at the group.
  llvm::FailureOr<GeneratedKernel> finish(std::array<int64_t, 3> grid,
                                          std::string configuration);

private:
  mlir::Value parameterOf(KernelArgument::Kind kind, unsigned index);

  FusedOp group;
  int64_t threads;
  Extras extras;
  KernelBuilder kernel;
  ExpressionEmitter values;
  llvm::SmallVector<KernelArgument> arguments;
  std::string problem;
};

} // namespace pascaline
