// Common.h - what the op families share: shape functions' checks, folding.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/Operation.h"

#include <optional>
#include <string>

namespace pascaline::detail {

/// Every operand must be a ranked tensor of static shape before a shape
/// function reads it.
llvm::LogicalResult checkOperands(std::optional<mlir::Location> location,
                                  mlir::ValueRange operands);

/// Adds tensor<shape x element> to `results`, or says that it is too large.
llvm::LogicalResult addResult(std::optional<mlir::Location> location,
                              llvm::ArrayRef<int64_t> shape, mlir::Type element,
                              llvm::SmallVectorImpl<mlir::Type> &results);

/// The shape function of pointwise ops.
llvm::LogicalResult inferPointwise(std::optional<mlir::Location> location,
                                   mlir::ValueRange operands, bool toBool,
                                   llvm::SmallVectorImpl<mlir::Type> &results);

/// Simplifies a pointwise op, or evaluates it where its operands are constant.
mlir::OpFoldResult foldPointwise(mlir::Operation *op,
                                 llvm::ArrayRef<mlir::Attribute> operands);

mlir::FailureOr<llvm::SmallVector<int64_t>>
parseIntegers(mlir::AsmParser &parser);
void printIntegers(mlir::AsmPrinter &printer, llvm::ArrayRef<int64_t> values);

/// "1x3x8x8" for messages.
std::string shapeText(llvm::ArrayRef<int64_t> shape);

inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType()).getShape();
}
inline mlir::Type elementOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType()).getElementType();
}

} // namespace pascaline::detail
