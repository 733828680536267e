// Windows.h - reading the windows of a tile of outputs, for pooling and
// depthwise convolution.
//
// A thread computes a small tile of neighbouring outputs, whose windows
// overlap; each element under the tile is loaded and masked once. A place in
// the padding reads the element at an edge instead (no branch, nothing outside
// the tensor) and then counts as the padding's value.
//
// Test: test/compiler/WindowTest.cpp
#pragma once

#include "compiler/kernels/ExpressionEmitter.h"
#include "compiler/kernels/KernelBuilder.h"

#include <array>
#include <map>

namespace pascaline {

/// One spatial dimension of a window op; missing ones are all ones.
struct WindowDim {
  int64_t in = 1, out = 1, window = 1, stride = 1, dilation = 1, begin = 0;
  int64_t tile = 1; ///< outputs of a thread; divides `out`
};
using WindowDims = std::array<WindowDim, 3>;
using WindowOffset = std::array<int64_t, 3>;

/// The spatial dimensions of x [n, c, spatial...] and y, innermost last.
WindowDims windowDims(llvm::ArrayRef<int64_t> x, llvm::ArrayRef<int64_t> y,
                      llvm::ArrayRef<int64_t> window,
                      llvm::ArrayRef<int64_t> strides,
                      llvm::ArrayRef<int64_t> dilations,
                      llvm::ArrayRef<int64_t> padsBegin);

/// Sets the tiles: up to `most` outputs a thread, as long as `planes` planes
/// still give work to `threads`.
void chooseTile(WindowDims &dims, int64_t planes, int64_t most,
                int64_t threads);

/// A thread's tile: which plane (n and channel) and its first output.
struct WindowTile {
  AffineIndex plane;
  std::array<AffineIndex, 3> first;

  /// From the tile's number, planes outermost; of `lanes` planes at a time the
  /// same tile, where channels are neighbours in memory.
  static WindowTile of(IndexBuilder &indices, const WindowDims &dims,
                       const AffineIndex &number, int64_t lanes = 1);
};

/// Outputs and tiles of a plane.
int64_t planeOutputs(const WindowDims &dims);
int64_t planeTiles(const WindowDims &dims);

/// The linear indices in y of a tile's outputs, row-major in the tile, and
/// their offsets within it.
std::vector<AffineIndex> tileOutputs(const WindowDims &dims,
                                     const WindowTile &tile);
std::vector<WindowOffset> tileOffsets(const WindowDims &dims);

/// Calls `body` for all taps of the windows: the innermost dimensions whose
/// taps fit into `most` at once, the others in a loop. `firstTap` and `taps`
/// say which; `carried` values go round.
llvm::SmallVector<mlir::Value>
forEachTaps(KernelBuilder &b, ExpressionEmitter &emitter,
            const WindowDims &dims, int64_t most,
            llvm::SmallVector<mlir::Value> carried,
            llvm::function_ref<llvm::SmallVector<mlir::Value>(
                const std::array<AffineIndex, 3> &firstTap,
                const WindowOffset &taps, llvm::ArrayRef<mlir::Value> carried)>
                body);

/// Where the first tap of the tile's first output lies in x.
std::array<AffineIndex, 3>
windowStart(const WindowDims &dims, const WindowTile &tile,
            const std::array<AffineIndex, 3> &firstTap);

/// Offsets of all `taps` of a window, row-major.
std::vector<WindowOffset> tapOffsets(const WindowOffset &taps);

/// Offset in x of an output's tap from the tile's start.
WindowOffset underTap(const WindowDims &dims, const WindowOffset &output,
                      const WindowOffset &tap);

/// Reads x around a place: `start` is the element under the first tap of the
/// tile's first output, and may lie in the padding.
class WindowReader {
public:
  WindowReader(KernelBuilder &builder, ExpressionEmitter &emitter,
               mlir::Value x, const WindowDims &dims, AffineIndex plane,
               std::array<AffineIndex, 3> start, mlir::Value padding)
      : b(builder), emitter(emitter), x(x), dims(dims), plane(std::move(plane)),
        start(std::move(start)), padding(padding) {}

  /// The elements at offsets from the start, in elements of x.
  llvm::SmallVector<mlir::Value> read(llvm::ArrayRef<WindowOffset> offsets);

private:
  struct Place {
    AffineIndex index;
    mlir::Value valid; ///< null: always
  };
  const Place &place(unsigned dimension, int64_t offset);

  KernelBuilder &b;
  ExpressionEmitter &emitter;
  mlir::Value x;
  const WindowDims &dims;
  AffineIndex plane;
  std::array<AffineIndex, 3> start;
  mlir::Value padding;
  std::map<int64_t, Place> places[3];
  std::map<WindowOffset, mlir::Value> known;
};

} // namespace pascaline
