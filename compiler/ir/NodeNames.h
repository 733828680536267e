// NodeNames.h - the ONNX nodes behind an op's location.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace mlir {
class Operation;
} // namespace mlir

namespace pascaline {

/// The names in the locations of an op and of the ops in its regions, each
/// once, in program order.
llvm::SmallVector<llvm::StringRef> nodeNames(mlir::Operation *op);

} // namespace pascaline
