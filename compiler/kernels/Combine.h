// Combine.h - what reductions and softmax share: combining values within a
// thread, a warp and a block, always in the same order.
//
// A row of `count` elements is dealt to `lanes` threads, `width` neighbours a
// step:
//
//   step 0:  lane 0: 0 1 2 3   lane 1: 4 5 6 7   ...     (width 4)
//   step 1:  lane 0: 4 * lanes ...
//
// Each thread keeps `width` partial results, which also keeps rounding errors
// small; they meet in a tree within the thread, then lanes meet by shuffles,
// then warps through shared memory.
//
// Test: test/compiler/ReduceTest.cpp
#pragma once

#include "compiler/ir/Dialect.h"
#include "compiler/kernels/ExpressionEmitter.h"
#include "compiler/kernels/KernelBuilder.h"

namespace pascaline {

/// An associative operation on values of an element type's compute type.
class Combiner {
public:
  Combiner(KernelBuilder &builder, ReduceKind kind, mlir::Type element)
      : b(builder), kind(kind), element(element) {}

  /// What changes nothing: 0, 1, the lowest, the highest value.
  mlir::Value identity();
  /// max and min give NaN where an operand is.
  mlir::Value operator()(mlir::Value left, mlir::Value right);
  /// All of them, as a balanced tree; the identity for none.
  mlir::Value tree(llvm::ArrayRef<mlir::Value> values);

private:
  KernelBuilder &b;
  ReduceKind kind;
  mlir::Type element;
};

/// The value combined over groups of `lanes` (a power of two, at most 32)
/// neighbouring lanes; every lane gets the result. All lanes of the warp take
/// part.
mlir::Value combineLanes(KernelBuilder &b, Combiner &combiner,
                         mlir::Value value, int64_t lanes);

/// The value combined over a block of `threads`; every thread gets the result.
/// `shared` has room for a value a warp. May be called again with the same
/// `shared`.
mlir::Value combineBlock(KernelBuilder &b, Combiner &combiner,
                         mlir::Value value, int64_t threads,
                         mlir::Value shared);

/// A row dealt to threads, as above.
struct RowShare {
  int64_t count = 0; ///< a multiple of width
  int64_t lanes = 1;
  int64_t width = 1;
  AffineIndex lane; ///< this thread's number below `lanes`

  int64_t stride() const { return lanes * width; }
  int64_t fullSteps() const { return count / stride(); }
  bool hasTail() const { return count % stride() != 0; }
};

/// Elements of the row that this thread takes in its last, partial step: all
/// lie inside the row, and count only where `valid`.
struct RowTail {
  llvm::SmallVector<AffineIndex> at;
  mlir::Value valid;
};
RowTail rowTail(KernelBuilder &b, IndexBuilder &indices, const RowShare &share);

/// Calls `body` with the places of the elements of this thread's full steps, a
/// few steps at a time, in a loop or unrolled; `carried` values go round.
llvm::SmallVector<mlir::Value> forEachStep(
    KernelBuilder &b, ExpressionEmitter &emitter, const RowShare &share,
    llvm::SmallVector<mlir::Value> carried,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(
        llvm::ArrayRef<AffineIndex> at, llvm::ArrayRef<mlir::Value> carried)>
        body);

/// This thread's part of the row combined: `evaluate` gives the elements at
/// some places.
mlir::Value combineRow(KernelBuilder &b, ExpressionEmitter &emitter,
                       const RowShare &share, Combiner &combiner,
                       llvm::function_ref<llvm::SmallVector<mlir::Value>(
                           llvm::ArrayRef<AffineIndex> at)>
                           evaluate);

/// How many lanes deserve a row of `vectors` accesses when there are `rows`:
/// a part of a warp, a warp, or a whole block of kBlockLanes.
int64_t chooseLanes(int64_t rows, int64_t vectors, int64_t multiprocessors);
inline constexpr int64_t kBlockLanes = 256;

} // namespace pascaline
