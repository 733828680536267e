// Operand - how a contraction reads one of its two inputs.
//
// An operand is a matrix of k rows and x columns (x is m or n) spread over a
// tensor: row and column numbers split into axes, outermost first, and each
// axis has a stride in the tensor. A dense matrix has one axis a side. For an
// image x is (row, column) of the output and k is (window row, window column,
// channel), and a bound says which sums of both lie outside the image, where
// the element is zero:
//
//   3x3, stride 2, padding 1, of an image 64 x 56 x 56 in NCHW:
//     x = {28, 2 * 56}, {28, 2}    k = {3, 56}, {3, 1}, {64, 3136}
//     bounds: 0 <= 2 * x0 + k0 - 1 < 56, 0 <= 2 * x1 + k1 - 1 < 56
//     offset = -57, the element before the image's first row and column
//
// Any layout is read in place this way: only the strides change.
//
// planOperand decides once how a tile is fetched; OperandLoader emits that.
//
// Test: test/compiler/ContractionTest.cpp
#pragma once

#include "compiler/kernels/KernelBuilder.h"

#include <functional>
#include <optional>
#include <string>

namespace pascaline {

struct Tile;

struct Axis {
  int64_t extent;
  int64_t stride; ///< in elements
};

/// x[xAxis] * xStep + k[kAxis] * kStep + offset must lie in [0, limit).
struct Bound {
  unsigned xAxis, kAxis;
  int64_t xStep, kStep, offset, limit;
};

struct Operand {
  mlir::Type element; ///< as stored
  int64_t offset = 0; ///< of the element (0, 0), in elements; may be negative
  llvm::SmallVector<int64_t> batchStrides; ///< one a batch axis; 0 broadcasts
  llvm::SmallVector<Axis> x, k;            ///< outermost first
  llvm::SmallVector<Bound> bounds;
  /// Applied to each element that lies inside, in the compute type; optional.
  std::function<mlir::Value(KernelBuilder &, mlir::Value)> prologue;

  int64_t xExtent() const;
  int64_t kExtent() const;
};

/// How the threads of a block fetch bk rows of tileX columns.
struct OperandPlan {
  // Elements a load takes along x or along k; at most one is 4.
  int64_t alongX = 1, alongK = 1;

  // The tile as a grid of loads: thread t takes columns t % columns (+ threads
  // * j) and rows t / columns + rowStep * i.
  int64_t columns, columnsPerThread, rowStep, rowsPerThread;
  int64_t loadStride; ///< from one row of loads to the next, in elements

  /// Rows of zeros before the first row, so that bk divides the depth. They
  /// come first because then only the first tile needs a mask.
  int64_t padding = 0;

  enum Walk {
    Linear,    ///< rows of loads are evenly apart: a pointer advances
    TileTable, ///< a tile lies in one position of the outer k axes
    RowTable,  ///< each load of a tile has a table entry of its own
  } walk = Linear;

  enum Guard {
    None,
    Mask,        ///< an entry's bits must all be set in the column's mask
    Coordinates, ///< an entry's coordinates are added to the column's
  } guard = None;

  // A table entry is `words` words: offset in bytes, then the guard's.
  int64_t words = 1;
  llvm::SmallVector<int32_t> table;
  int64_t baseOffset = 0; ///< added to Operand::offset; makes entries >= 0
  llvm::SmallVector<Bound> bounds; ///< those that can fail

  int64_t entriesPerTile() const {
    return walk == TileTable ? 1 : rowStep * rowsPerThread;
  }
  int64_t entriesPerThread() const {
    return walk == TileTable ? 1 : rowsPerThread;
  }
};

/// Merges axes that lie one after the other in memory and drops those of
/// extent 1, so that a 1x1 convolution is a dense matrix.
void simplify(Operand &operand);

OperandPlan planOperand(const Operand &operand, int64_t tileX, int64_t bk,
                        int64_t threads);

/// A sentence that says why an operand cannot be read, if it cannot.
std::optional<std::string> checkOperand(const Operand &operand);

class OperandLoader {
public:
  /// `tag` names the operand's globals.
  OperandLoader(KernelBuilder &b, const Operand &operand, llvm::StringRef tag,
                int64_t tileX, const Tile &tile);

  /// Emits what is constant over the main loop, for the columns from `column`
  /// and the tiles from `tile` on; gives the loop-carried state.
  llvm::SmallVector<mlir::Value> setUp(mlir::Value pointer,
                                       llvm::ArrayRef<mlir::Value> batch,
                                       mlir::Value column, mlir::Value tile);

  /// Where this thread's first element goes in a stage, in bytes.
  mlir::Value sharedOffset();

  /// The elements of the tile at `state`, in registers. `more` (may be null)
  /// says whether there is such a tile; without one nothing is read. The
  /// first tile alone holds rows of padding.
  llvm::SmallVector<mlir::Value> fetch(mlir::ValueRange state, mlir::Value more,
                                       bool first);
  llvm::SmallVector<mlir::Value> advance(mlir::ValueRange state);
  size_t stateSize() const;

  /// Writes fetched elements to the stage whose bytes `stage` points at, this
  /// thread's offset included.
  void stage(llvm::ArrayRef<mlir::Value> fetched, mlir::Value stage);

private:
  mlir::Value guardOf(int64_t column, mlir::ValueRange entry);
  llvm::SmallVector<mlir::Value> loadEntries(mlir::Value tablePointer);
  mlir::Value finishElement(mlir::Value value, mlir::Value condition);

  KernelBuilder &b;
  const Operand &operand;
  OperandPlan plan;
  int64_t tileX, bk, threads;
  std::string tag;

  // Set by setUp.
  mlir::Value lane, row; ///< this thread's column and row in the grid of loads
  mlir::Value firstRow;  ///< of the first tile, in loads
  llvm::SmallVector<mlir::Value> bases; ///< a column: pointer (tables only)
  llvm::SmallVector<mlir::Value> masks; ///< a column: mask (Guard::Mask)
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> places; ///< Coordinates
};

} // namespace pascaline
