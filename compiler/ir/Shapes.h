// Shapes.h - the shape rules, each once, for shape functions, importer and
// kernels. Errors are sentences without the op's name.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <string>

namespace pascaline {

using Shape = llvm::SmallVector<int64_t>;

/// numpy's rule: aligned at the last dimension, 1 stretches.
std::optional<Shape> broadcastShapes(llvm::ArrayRef<int64_t> a,
                                     llvm::ArrayRef<int64_t> b);

/// Outputs of a window along one dimension: floor((in + begin + end -
/// (dilation * (window - 1) + 1)) / stride) + 1; nothing when the window does
/// not fit or an argument is out of range.
std::optional<int64_t> windowOutputs(int64_t in, int64_t window, int64_t stride,
                                     int64_t dilation, int64_t begin,
                                     int64_t end);

/// Row-major strides in elements.
Shape rowMajorStrides(llvm::ArrayRef<int64_t> shape);

} // namespace pascaline
