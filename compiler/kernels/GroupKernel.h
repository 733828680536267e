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

#include "compiler/kernels/ExpressionEmitter.h"
#include "compiler/kernels/Generator.h"
#include "compiler/kernels/KernelBuilder.h"

namespace pascaline {

/// "conv_add_relu": the kinds of a group's ops in order; a PTX identifier.
std::string entryName(FusedOp group);

/// Arithmetic of the group, and the bytes of its operands and results.
int64_t countFlops(FusedOp group);
int64_t countBytes(FusedOp group);

/// Elements of a tensor value.
int64_t countElements(mlir::Value value);

class GroupKernel {
public:
  /// Starts the entry with `threads` threads a block: one pointer for each
  /// operand that the body reads, then one for each result.
  GroupKernel(FusedOp group, int64_t threads);

  KernelBuilder &builder() { return kernel; }
  ExpressionEmitter &emitter() { return values; }

  /// Ends the kernel. Emits the emitter's problem, if any, at the group.
  llvm::FailureOr<GeneratedKernel> finish(std::array<int64_t, 3> grid,
                                          std::string configuration);

private:
  FusedOp group;
  int64_t threads;
  KernelBuilder kernel;
  ExpressionEmitter values;
  llvm::SmallVector<KernelArgument> arguments;
};

} // namespace pascaline
