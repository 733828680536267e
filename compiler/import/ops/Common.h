// Common.h - what operator families share.
#pragma once

#include "compiler/import/NodeImporter.h"

namespace pascaline::importer {

/// The operands of a binary operator, the second one reshaped where the rules
/// before opset 7 align it with an axis of the first.
std::optional<std::pair<mlir::Value, mlir::Value>>
legacyOperands(NodeImporter &n);

/// a b over the last two dimensions, for any number type: integers are
/// multiplied and summed, because the dialect contracts floats only.
mlir::Value contract(NodeImporter &n, mlir::Value a, mlir::Value b,
                     bool transposeA = false, bool transposeB = false);

/// x [n, c, ...] with a per-channel vector [c] made to broadcast against it.
mlir::Value alongChannels(NodeImporter &n, mlir::Value vector, int64_t rank);

/// The geometry of a convolution's or a pool's windows, resolved.
struct Windows {
  Shape window, strides, dilations, begin, end;
  /// Padding that counts in an average's divisor; ceil_mode widens `end` alone.
  Shape countedEnd;
};

/// Resolves kernel_shape (given), strides, dilations, pads, auto_pad and
/// ceil_mode over the spatial extents `in`.
std::optional<Windows> resolveWindows(NodeImporter &n,
                                      llvm::ArrayRef<int64_t> in,
                                      llvm::ArrayRef<int64_t> window);

/// The axes from `first` to rank - 1.
Shape axesFrom(int64_t first, int64_t rank);

} // namespace pascaline::importer
