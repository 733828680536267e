// Generator.h - from a fused group to a kernel. Pure functions of (group,
// configuration, chip): no state, no device, the same bytes every time.
#pragma once

#include "compiler/kernels/WeightPacking.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <array>
#include <string>

namespace pascaline {

class FusedOp;
struct Chip;

/// One pointer parameter of a kernel, in the order of the entry's parameters.
struct KernelArgument {
  enum Kind {
    Input,     ///< index: operand of the group
    Output,    ///< index: result of the group
    Workspace, ///< scratch memory of GeneratedKernel::workspaceBytes
    Counters,  ///< zeroed u32 words that the kernel leaves zero
  } kind;
  unsigned index = 0;
  /// For an Input that is a constant: how the kernel wants its bytes laid out.
  /// Set only where the operand is a constant.
  std::optional<WeightPacking> packing;
  /// For an Input: a result of the group that may lie in its place, since the
  /// thread that stores an element of the result is the one that reads the
  /// element there, and has read all it will before it stores.
  std::optional<unsigned> replacedBy;
};

struct GeneratedKernel {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< holds one llvm.func, the entry
  std::string entry;                        ///< its name
  std::array<int64_t, 3> grid = {1, 1, 1}, block = {1, 1, 1};
  llvm::SmallVector<KernelArgument> arguments;
  int64_t sharedBytes = 0;    ///< static shared memory of a block
  int64_t workspaceBytes = 0; ///< device scratch, undefined between launches
  int64_t counterWords = 0;
  int64_t flops = 0; ///< arithmetic operations, a multiply-add being two
  int64_t bytes = 0; ///< device memory that must move at least once
  std::string configuration; ///< "64x64x8, 4x8 a thread, split 4", for reports
};

/// The kernel for a group whose result tensors and operands are final. Emits an
/// error at the group and fails when no generator can serve it.
llvm::FailureOr<GeneratedKernel> generateKernel(FusedOp group,
                                                const Chip &chip);

} // namespace pascaline
