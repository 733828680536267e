// ExpressionEmitter.h - evaluates the body of a group at an element.
//
// Every kernel family meets the same two questions: what is the value of this
// operand of my anchor at this index (the prologue: loads, views, casts,
// pointwise ops), and what becomes of the element that my anchor has just
// computed (the epilogue: pointwise ops, more operands, views, stores). Both
// are answered here, once, for a few elements at a time:
//
//   ExpressionEmitter emitter(group, builder, loc);
//   emitter.bindInput(0, pointer); ... emitter.bindOutput(0, pointer);
//   AffineIndex m = emitter.index().variable(row, 64);
//   AffineIndex p = emitter.index().variable(pixel, 3136, /*multiple=*/4);
//   std::vector<TensorIndex> at;              // four neighbours
//   for (int w = 0; w < 4; ++w)
//     at.push_back(TensorIndex::linear(shape, m * 3136 + p + w));
//   emitter.storeResults(at, accumulators);   // epilogue and stores
//
// Elements are listed one by one; that four of them make one 128-bit access,
// or that a broadcast operand is one load for all, follows from their indices.
// Buffers are 256-byte aligned; a tensor's encoding says how its elements lie
// there (compiler/ir/Layout.h), row-major without one.
//
// What cannot be evaluated leaves a sentence in problem(), and values of the
// right type, so that generators test once, at the end.
//
// Test: test/compiler/PointwiseTest.cpp
#pragma once

#include "compiler/ir/Dialect.h"
#include "compiler/ir/Shapes.h"
#include "compiler/kernels/AffineIndex.h"

#include <functional>
#include <optional>
#include <string>

namespace pascaline {

/// The place of one element in a tensor of some shape: its row-major linear
/// index, or an index a dimension, whichever came first; the other follows
/// when it is asked for.
struct TensorIndex {
  Shape shape;
  std::optional<AffineIndex> flat;
  std::vector<std::optional<AffineIndex>> dims;

  static TensorIndex linear(llvm::ArrayRef<int64_t> shape, AffineIndex flat);
  static TensorIndex of(llvm::ArrayRef<int64_t> shape,
                        llvm::ArrayRef<AffineIndex> dims);
};

class ExpressionEmitter {
public:
  ExpressionEmitter(FusedOp group, mlir::OpBuilder &builder,
                    mlir::Location loc);

  /// Whether something in the body reads the operand. Splat constants that are
  /// to be written into the code lie in the body; an operand is a buffer.
  static bool needsPointer(FusedOp group, unsigned operand);

  /// Pointers (addrspace 1) of the group's operands and results.
  void bindInput(unsigned operand, mlir::Value pointer);
  void bindOutput(unsigned result, mlir::Value pointer);

  IndexBuilder &index() { return indices; }

  /// The linear index and the index along a dimension.
  AffineIndex flat(TensorIndex &at);
  AffineIndex dim(TensorIndex &at, unsigned dimension);

  /// Where the element lies in the memory of a group's operand or result.
  AffineIndex place(mlir::Value tensor, TensorIndex &at);

  /// A value of the body (or a block argument) at each of the elements, in the
  /// compute type of its element type. The value must not depend on the anchor.
  llvm::SmallVector<mlir::Value> evaluate(mlir::Value value,
                                          llvm::ArrayRef<TensorIndex> at);

  /// The epilogue: `elements` are the anchor's result (compute type) at `at`,
  /// indices of the anchor's result tensor; every result of the group is
  /// evaluated there and stored.
  void storeResults(llvm::ArrayRef<TensorIndex> at,
                    llvm::ArrayRef<mlir::Value> elements);

  /// The same, from the result of any op of the body that all results depend
  /// on.
  void storeResultsAfter(mlir::Operation *producer,
                         llvm::ArrayRef<TensorIndex> at,
                         llvm::ArrayRef<mlir::Value> elements);

  /// Stores the results of a group without anchor at indices of their common
  /// shape, after all loads.
  void storeResults(llvm::ArrayRef<TensorIndex> at);

  /// Loads and stores of elements of a buffer, widest access first; in and out
  /// in the compute type. `element` is the tensor's element type.
  llvm::SmallVector<mlir::Value> load(mlir::Value pointer, mlir::Type element,
                                      llvm::ArrayRef<AffineIndex> at);
  void store(mlir::Value pointer, mlir::Type element,
             llvm::ArrayRef<AffineIndex> at,
             llvm::ArrayRef<mlir::Value> values);

  /// Replaces the emission of each store (value, address), for kernels whose
  /// stores happen under a condition; null: plain stores again.
  using Storer = std::function<void(mlir::Value, mlir::Value)>;
  void setStorer(Storer emit) { storer = std::move(emit); }

  /// Conversion between an element type as stored in memory and its compute
  /// type.
  mlir::Value toCompute(mlir::Value stored, mlir::Type element);
  mlir::Value toStored(mlir::Value computed, mlir::Type element);

  /// Why some value could not be evaluated; empty when all is well.
  const std::string &problem() const { return firstProblem; }

  /// Values emitted while a Scope lives are forgotten when it ends: wrap the
  /// code of each region (loop, if) in one.
  class Scope {
  public:
    explicit Scope(ExpressionEmitter &emitter);
    ~Scope();
    Scope(const Scope &) = delete;

  private:
    ExpressionEmitter &emitter;
    IndexBuilder::Memo indices;
    std::map<std::vector<int64_t>, mlir::Value> values;
  };

private:
  std::vector<int64_t> keyOf(mlir::Value value, TensorIndex &at);
  llvm::SmallVector<mlir::Value> compute(mlir::Value value,
                                         llvm::MutableArrayRef<TensorIndex> at);
  TensorIndex broadcastOperand(TensorIndex &at, llvm::ArrayRef<int64_t> shape);
  TensorIndex permuted(TensorIndex &at, llvm::ArrayRef<int64_t> source);
  TensorIndex sliceOperand(SliceOp slice, TensorIndex &at);
  TensorIndex operandOfView(mlir::Operation *view, TensorIndex &at);
  std::optional<TensorIndex> resultOfView(mlir::Operation *view,
                                          TensorIndex &at);
  mlir::Value address(mlir::Value pointer, mlir::Type stored,
                      const AffineIndex &at);
  mlir::Value literal(mlir::ElementsAttr value);
  mlir::Value failed(mlir::Type element, std::string why);

  FusedOp group;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  IndexBuilder indices;
  llvm::DenseMap<mlir::Value, mlir::Value> inputs;
  llvm::SmallVector<mlir::Value> outputs;
  llvm::DenseMap<mlir::Value, unsigned> numbers; ///< of body values, for keys
  std::map<std::vector<int64_t>, mlir::Value> memo;
  std::string firstProblem;
  Storer storer;
};

} // namespace pascaline
