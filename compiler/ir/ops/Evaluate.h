// Evaluate.h - the values of ops whose operands are constant.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace pascaline {
class ReduceOp;
}

namespace pascaline::detail {

/// Results of at most this many elements are computed while folding (a splat
/// counts as one); larger ones are left to kernels.
inline constexpr int64_t kMostScalars = 4096;
/// As many may a folded data movement have.
inline constexpr int64_t kMostMoved = 65536;

/// A pointwise op's value, or null when it is too large or some function in
/// emitScalar's formula has no folder.
mlir::ElementsAttr evaluatePointwise(mlir::Operation *op,
                                     llvm::ArrayRef<mlir::Attribute> operands);

/// A reduction's value; integers only, as a kernel's order of summing floats
/// is its own.
mlir::ElementsAttr evaluateReduce(ReduceOp op, mlir::ElementsAttr x);

/// The value of a reduction over no element, whatever the operand; null where
/// the result has none either.
mlir::ElementsAttr reduceOfNothing(ReduceOp op);

} // namespace pascaline::detail
