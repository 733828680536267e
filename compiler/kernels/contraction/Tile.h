// Tile - the numbers that shape a contraction kernel, and which are allowed.
//
// A block computes bm x bn outputs, a warp lanesM * tm x lanesN * tn of them, a
// thread tm x tn. bk elements of k are staged in shared memory at a time.
//
// Test: test/compiler/TileTest.cpp
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace pascaline {

/// The order in which a thread's tm x tn multiply-adds are emitted. It decides
/// how ptxas allots registers to banks: 53 to 94 % of peak issue rate for one
/// and the same tile. Line x of the outer dimension visits the inner one at
/// (skew * x + first + step * y) mod its extent.
struct EmissionOrder {
  bool rowsOuter = true;
  int64_t first = 0, step = 1, skew = 0;
  /// The next step's fragments are loaded after so many multiply-adds.
  int64_t loadAfter = 0;

  /// (row, column) of each multiply-add in turn.
  llvm::SmallVector<std::pair<int64_t, int64_t>> pairs(int64_t tm,
                                                       int64_t tn) const;
};

struct Tile {
  int64_t bm, bn, bk;
  int64_t tm, tn;
  int64_t lanesM, lanesN; ///< of a warp; their product is 32
  int64_t minBlocks;      ///< blocks an SM that registers must leave room for
  EmissionOrder order;

  int64_t warpsM() const { return bm / (lanesM * tm); }
  int64_t warpsN() const { return bn / (lanesN * tn); }
  int64_t threads() const { return warpsM() * warpsN() * 32; }
  /// Two stages of both operands, staged as f32 (or four int8 a word).
  int64_t sharedBytes() const { return 2 * bk * (bm + bn) * 4; }
  std::string text() const; ///< "128x64x8, 8x8 a thread"
};

/// A sentence that says why a tile is impossible, if it is.
std::optional<std::string> checkTile(const Tile &tile);

/// The tiles that kernels use, each with its best known emission order (found
/// with tools/scripts/search-order.py), largest first.
llvm::ArrayRef<Tile> allTiles();

} // namespace pascaline
