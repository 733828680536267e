// FloatValues.h - float constants as doubles, to compute and round once.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"

#include <optional>
#include <vector>

namespace pascaline {

/// The elements of a float constant; nothing for other types and for elided
/// resources.
std::optional<std::vector<double>> floatValues(mlir::ElementsAttr value);

/// A constant of a float type from doubles, each rounded to nearest; null where
/// one is not finite in it.
mlir::ElementsAttr makeFloats(mlir::RankedTensorType type,
                              llvm::ArrayRef<double> values);

} // namespace pascaline
