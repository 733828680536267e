// Contraction - y[b, m, n] = sum over k of a[b, k, m] * b[b, k, n], for any way
// that the operands lie in memory and any use of the sums.
//
// One kernel serves matrix products, fully connected layers and convolutions;
// what differs is the operands (Operand.h) and the epilogue, a callback that is
// given the sums in registers and stores what it makes of them.
//
// Shape:  grid x = batch * tiles of m * tiles of n, m fastest; grid y = slices
//         of k; a block is Tile::threads().
// Shared: two stages of both operands; one barrier a stage.
// Cost:   multiply-adds: 90 % of the main loop's instructions.
//
// With several slices of k a block leaves its sums in the workspace, and the
// last block of a tile to arrive adds them in slice order and runs the
// epilogue: one launch, the same bits every time.
//
// Test: test/compiler/ContractionTest.cpp
#pragma once

#include "compiler/kernels/contraction/Operand.h"
#include "compiler/kernels/contraction/Tile.h"

#include <array>

namespace pascaline {

struct Contraction {
  llvm::SmallVector<int64_t> batch; ///< extents of the batch axes
  int64_t m, n, k;
  Operand a, b; ///< x is m, x is n
  Tile tile;
  int64_t slices = 1;
  /// Hand the epilogue neighbours along m rather than n: what lies side by side
  /// in the output. Needs m to be a multiple of 4.
  bool alongM = false;

  int64_t tilesM() const { return (m + tile.bm - 1) / tile.bm; }
  int64_t tilesN() const { return (n + tile.bn - 1) / tile.bn; }
  int64_t tilesK() const { return (k + tile.bk - 1) / tile.bk; }
  int64_t batchCount() const;
  int64_t outputTiles() const { return batchCount() * tilesM() * tilesN(); }

  std::array<int64_t, 3> grid() const { return {outputTiles(), slices, 1}; }
  int64_t workspaceBytes() const;
  int64_t counterWords() const { return slices > 1 ? outputTiles() : 0; }
  std::string text() const; ///< "64x64x8, 4x8 a thread, 4 slices"
};

/// A row or column of the output: value + plus, where value is in [0, extent)
/// and a thread's places share the value as far as the edges allow.
struct Place {
  mlir::Value value; ///< i32
  int64_t plus = 0;
  int64_t extent;
};

/// Sums that a thread holds side by side, as Contraction::alongM says: 4 along
/// m, 4 along n, or 1 where n is no multiple of 4 (the first's place along that
/// side is a multiple of their number).
struct OutputGroup {
  llvm::ArrayRef<mlir::Value> batch; ///< coordinates, i32
  Place m, n;                        ///< of the first; always inside the output
  mlir::Value inside;                ///< whether to store (i1); null: always
  llvm::ArrayRef<mlir::Value> sums;
};
using Epilogue = std::function<void(KernelBuilder &, const OutputGroup &)>;

struct ContractionPointers {
  mlir::Value a, b;
  mlir::Value workspace, counters; ///< needed with several slices only
};

/// A sentence that says why a contraction cannot be built, if it cannot.
std::optional<std::string> checkContraction(const Contraction &contraction);

/// Emits the kernel's body at the builder, which was made for
/// tile.threads() threads.
void emitContraction(KernelBuilder &b, const Contraction &contraction,
                     const ContractionPointers &pointers,
                     const Epilogue &epilogue);

} // namespace pascaline
