// TransposeMoves.h - where to compute on transposed tensors, by cost.
//
// Ops that work alike in any order of dimensions (pointwise ops, concat,
// softmax, reduce, pad, slice, gather, broadcast) can run on their operands as
// they are or on the operands transposed by some permutation. Each may choose
// for itself; where two neighbours differ a transpose stands between them. So
// the whole function is a two-label problem, and its cheapest labels are a
// minimum cut (MinCut.h):
//
//   value -> reader with the other label: a transpose, once for all of them
//   transpose that the permutation undoes: its result is transposed already
//   transpose by the permutation: it wants its operand transposed
//   all else (conv, matmul, pool, reshape, inputs, results): never transposed
//
// A transpose costs reading and writing the tensor and a launch, or, beside an
// anchor, which stores or reads in any order, a quarter of the tensor's moves.
// One that moves no element but those of extent 1, or a constant, is free.
//
// Test: test/passes/graph/absorb-transposes.mlir
#pragma once

#include "mlir/IR/Block.h"

namespace pascaline {

/// Transposes by `perm` what is cheaper transposed: whether anything was.
bool moveTransposes(mlir::Block &block, llvm::ArrayRef<int64_t> perm);

/// Whether a transpose leaves the order of the elements: it moves dimensions of
/// one element alone.
bool keepsOrder(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> perm);

/// The permutation that brings dimensions back.
llvm::SmallVector<int64_t> inverseOf(llvm::ArrayRef<int64_t> perm);

} // namespace pascaline
