// ContractionCases - small contractions as PTX, for tests and the order search.
#pragma once

#include "compiler/kernels/contraction/Contraction.h"

#include <string>
#include <vector>

namespace pascaline::test {

/// A kernel y = epilogue(a * b) with pointers (a, b, bias, y, workspace,
/// counters); workspace and counters only with several slices. y is
/// [batch][m][n], bias is [m] and added, then relu when `relu`.
struct CompiledContraction {
  std::string entry, ptx;
  Contraction contraction;
  std::vector<std::string> errors;
};

CompiledContraction compileContraction(mlir::MLIRContext &context,
                                       Contraction contraction, bool relu);

/// A context that may translate kernels.
std::unique_ptr<mlir::MLIRContext> makeContext();

/// Dense operands. `kInner`: k is the contiguous side, else x.
Operand denseOperand(mlir::MLIRContext &context, int64_t x, int64_t k,
                     bool kInner, int64_t batchStride);

/// A two-dimensional convolution over an NCHW image: y[m][oy * ox].
struct ConvCase {
  int64_t channels, height, width, outputs, window, stride, pad, dilation;
  int64_t images = 1, groups = 1;
  bool channelsLast = false;
  int64_t outHeight() const;
  int64_t outWidth() const;
};
/// batch axes are (image, group); weights are packed [group][k][m].
Contraction convContraction(mlir::MLIRContext &context, const ConvCase &conv,
                            const Tile &tile, int64_t slices);
/// Packed weights of a contraction whose a comes from convContraction.
Operand packedOperand(mlir::MLIRContext &context, int64_t m, int64_t k,
                      const Tile &tile, llvm::ArrayRef<int64_t> batchStrides);

} // namespace pascaline::test
