// Groups.h - what the fusion passes share: which ops may join a group, and the
// two ways to make one bigger.
#pragma once

#include "compiler/ir/Dialect.h"
#include "compiler/ir/Types.h"

namespace pascaline {

/// The most ops of a group: a limit that keeps a kernel's code and registers
/// sane, and hostile graphs from deep recursion.
inline constexpr size_t kMostOps = 96;

/// The most values of a group that others may read.
inline constexpr size_t kMostResults = 2;

/// transpose, reshape, broadcast, slice: read or stored in place, with strides.
bool isView(mlir::Operation *op);

/// A pointwise op or a view: what a group may hold beside its anchor.
bool isFusable(mlir::Operation *op);

/// Whether computing an op again where it is read costs no more than reading
/// its result: a view, or cheap arithmetic on one tensor of its size.
bool isCheapToRepeat(mlir::Operation *op);

/// Whether a value follows from constants alone: such work is done once, when
/// the model is loaded, and must not move into a kernel of every run.
bool isConstantOnly(mlir::Value value);

/// Makes a group of `members` (in program order) with the results `yields`, at
/// the place of the last member. Operands from outside become inputs, splat
/// constants that pointwise members read literals of the body.
FusedOp makeGroup(llvm::ArrayRef<mlir::Operation *> members,
                  mlir::ValueRange yields);

/// Moves a copy of the op that makes input `index` to the start of the body;
/// its operands become inputs. The original stays while something uses it.
void pullIn(FusedOp group, unsigned index);

} // namespace pascaline
