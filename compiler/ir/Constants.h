// Constants.h - making and reading the values of `pascaline.constant`.
//
// Up to kDenseBytes a value is a DenseElementsAttr, above it a resource blob
// that text elides and bytecode keeps. A splat is always dense.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Value.h"

namespace pascaline {

inline constexpr int64_t kDenseBytes = 1024;

/// A constant's value from its elements in row-major order, little-endian, one
/// byte a bool.
mlir::ElementsAttr makeElements(mlir::RankedTensorType type,
                                llvm::ArrayRef<char> bytes);

/// The elements in the form that makeElements takes (a splat is spread out);
/// empty optional for an elided resource.
std::optional<llvm::SmallVector<char>> elementBytes(mlir::ElementsAttr value);

/// The value of a constant operand, or null.
mlir::ElementsAttr constantValue(mlir::Value value);

/// Elements of an integer constant as int64; nothing when `value` is not a
/// constant of integers.
std::optional<llvm::SmallVector<int64_t>> integerValues(mlir::Value value);

/// The value shared by all elements of a float constant.
std::optional<double> splatFloat(mlir::Value value);

} // namespace pascaline
