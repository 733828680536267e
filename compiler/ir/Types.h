// Types.h - element types and sizes: the one place that knows them.
#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

#include <optional>

namespace pascaline {

/// Bytes of one stored element: bool takes one.
int64_t elementBytes(mlir::Type element);

/// Elements of a tensor, or nothing when the product exceeds 2^31 - 1, the
/// most that a kernel's 32-bit index arithmetic can name.
std::optional<int64_t> elementCount(llvm::ArrayRef<int64_t> shape);

/// Elements of a tensor value.
int64_t countElements(mlir::Value value);

/// Bytes that a tensor takes on the device, its layout's packing and halo
/// included.
int64_t tensorBytes(mlir::RankedTensorType type);

/// The scalar type in which kernels compute on elements of a type: f32 for f16
/// and bf16, signless integers of the same width for unsigned ones, else the
/// type itself.
mlir::Type computeType(mlir::Type element);

/// "1x3x224x224xf32", for messages; "f32" for rank 0.
std::string typeText(mlir::Type type);

} // namespace pascaline
