// Halo.cpp - see the header.
#include "compiler/kernels/Halo.h"

#include "compiler/ir/Layout.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace pascaline {

/// As many elements of `run` neighbours as make one access.
static int64_t vectorWidth(int64_t run, int64_t bytes) {
  int64_t width = 16 / bytes;
  while (run % width != 0)
    width /= 2;
  return width;
}

std::optional<std::string> zeroHalo(KernelBuilder &b, Value pointer,
                                    RankedTensorType type, int64_t threads) {
  int64_t rank = type.getRank();
  bool hasHalo = false;
  for (int64_t i = 0; i < rank; ++i) {
    if (haloOf(type, i) == 0)
      continue;
    hasHalo = true;
    if (i + 2 < rank)
      return "a halo lies around dimension " + std::to_string(i) + " of " +
             std::to_string(rank) + "; kernels make one for the last two alone";
  }
  if (!hasHalo)
    return std::nullopt;

  MemoryLayout memory = memoryLayout(type);
  const MemoryAxis &rows = *memory.find(rank - 2, MemoryAxis::Whole);
  const MemoryAxis &columns = *memory.find(rank - 1, MemoryAxis::Whole);
  if (rows.stride != columns.stride * columns.extent)
    return "a halo's rows do not lie one after the other";
  int64_t top = haloOf(type, rank - 2), side = haloOf(type, rank - 1);
  int64_t height = type.getDimSize(rank - 2), width = type.getDimSize(rank - 1);

  // A plane's halo as places: whole rows above and below, then what is left and
  // right of the rows between.
  int64_t outer = 2 * top * columns.extent;
  int64_t places = outer + height * 2 * side;
  int64_t planeSize = rows.stride * rows.extent;
  int64_t planes = memory.elements / planeSize;
  int64_t vector =
      vectorWidth(columns.stride, storageBytes(type.getElementType()));
  int64_t lanes = columns.stride / vector;
  int64_t count = planes * places * lanes;

  Value grid = b.create<NVVM::GridDimXOp>(b.getI32Type());
  Value rowsOfGrid = b.create<NVVM::GridDimYOp>(b.getI32Type());
  Value block = b.add(b.mul(b.blockY(), grid), b.blockX());
  Value first = b.add(b.mul(block, threads), b.threadX());
  Value step = b.mul(b.mul(grid, rowsOfGrid), threads);
  Type stored = type.getElementType();
  if (stored.isInteger(1))
    stored = b.getI8Type();
  if (vector > 1)
    stored = VectorType::get({vector}, stored);
  b.branchIf(b.lessThan(first, count), [&] {
    b.doWhile(first, [&](ValueRange values) {
      Value at = values[0];
      Value lane = b.rem(at, lanes), inPlane = b.div(at, lanes);
      Value plane = b.div(inPlane, places), place = b.rem(inPlane, places);
      Value outerRow = b.div(place, columns.extent);
      outerRow = b.select(b.lessThan(outerRow, top), outerRow,
                          b.add(outerRow, height));
      Value row = outerRow, column = b.rem(place, columns.extent);
      if (side > 0) {
        Value rest = b.add(place, -outer);
        Value inner = b.add(b.div(rest, 2 * side), top);
        Value beside = b.rem(rest, 2 * side);
        beside =
            b.select(b.lessThan(beside, side), beside, b.add(beside, width));
        Value isOuter = b.lessThan(place, outer);
        row = b.select(isOuter, outerRow, inner);
        column = b.select(isOuter, column, beside);
      }
      Value element =
          b.add(b.add(b.mul(plane, planeSize), b.mul(row, rows.stride)),
                b.add(b.mul(column, columns.stride), b.mul(lane, vector)));
      b.store(b.zero(stored),
              b.element(pointer, type.getElementType(), element));
      Value next = b.add(at, step);
      return KernelBuilder::Next{b.lessThan(next, count), {next}};
    });
  });
  return std::nullopt;
}

} // namespace pascaline
