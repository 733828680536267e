// GroupContraction - a fused group around matmul or conv as one contraction.
//
// MatMul and Conv say how the anchor's operands and result map to a
// contraction; the rest is common and here: which tensors the operands come
// from, packing a constant one, choosing the tile, the epilogue.
//
// Test: test/compiler/MatMulTest.cpp, test/compiler/ConvTest.cpp
#pragma once

#include "compiler/ir/Dialect.h"
#include "compiler/kernels/Generator.h"
#include "compiler/kernels/contraction/Contraction.h"

namespace pascaline {

class ExpressionEmitter;
struct AffineIndex;

/// An operand of the anchor as a strided view of an operand of the group. The
/// packed dimension, if there is one, has two strides: from lane to lane in
/// `strides`, from slice to slice beside.
struct StridedView {
  unsigned operand;                          ///< of the group
  mlir::Type element;                        ///< as stored
  llvm::SmallVector<int64_t> shape, strides; ///< in elements
  llvm::SmallVector<int64_t> halo;           ///< zeros around each dimension
  int64_t offset = 0;
  std::optional<unsigned> packed;
  int64_t pack = 1, sliceStride = 0;

  bool isDense() const; ///< neither packed nor with a halo
};

/// The view behind a value of the group's body: a block argument seen through
/// transposes, slices, broadcasts, casts from half to float (staging widens
/// anyway), relayouts and such reshapes as strides can say; behind a packed
/// layout or one with a halo only casts. An error is emitted at the
/// group where it is something else.
llvm::FailureOr<StridedView> viewOf(FusedOp group, mlir::Value value);

/// One side of the contraction before the tile is known.
struct Side {
  StridedView view;
  Operand operand; ///< over view's strides
  /// How to lay the operand out if it is a constant; mPadded and kPadded
  /// follow from the tile.
  std::optional<WeightPacking> packing;
  /// Strides of the batch axes when packed, in groups.
  llvm::SmallVector<int64_t> packedBatch;
};

struct GroupContraction {
  FusedOp group;
  llvm::SmallVector<int64_t> batch;
  int64_t m, n, k;
  Side a, b;
  /// The place of an output in the anchor's result, row-major, from batch
  /// coordinates and m; n is added: it is the innermost.
  std::function<AffineIndex(llvm::ArrayRef<AffineIndex> batch, AffineIndex m)>
      row;
  /// The dimension of the anchor's result that m runs along innermost.
  int64_t rowDim = 0;
};

/// Whether a side may be laid out anew: a constant that nothing else reads.
bool canPack(FusedOp group, const Side &side);

/// A group around a convolution that is no depthwise one. Emits an error at the
/// group where its operands cannot be read in place.
llvm::FailureOr<GroupContraction> planConv(FusedOp group);

/// How long the contraction will take with the tile that suits it best, in
/// cycles; nothing where the kernel would be another.
std::optional<double> estimateContraction(const GroupContraction &contraction,
                                          const Chip &chip);

/// With few rows or columns the kernel is a Gemv.
llvm::FailureOr<GeneratedKernel>
generateContraction(const GroupContraction &contraction, const Chip &chip);

} // namespace pascaline
