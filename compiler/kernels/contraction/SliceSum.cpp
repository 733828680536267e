// SliceSum - see SliceSum.h.

#include "compiler/kernels/contraction/SliceSum.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace pascaline {

SmallVector<Value> sumSlices(KernelBuilder &b, ArrayRef<Value> sums,
                             const SliceSum &where) {
  auto vector = VectorType::get({4}, b.getF32Type());
  int64_t words = sums.size() / 4; // of a thread
  int64_t wordBytes = where.threads * 16;
  Value thread = b.threadX();

  // Tile and slice counts are such that this fits 32 bits (checkContraction).
  Value tile = b.element(
      where.workspace, vector,
      b.add(b.mul(where.outputTile, where.slices * words * where.threads),
            thread));
  Value mine =
      b.element(tile, vector, b.mul(where.slice, words * where.threads));
  for (int64_t i = 0; i < words; ++i)
    b.store(b.vectorOf(sums.slice(4 * i, 4)),
            b.byteOffset(mine, i * wordBytes));

  // Writes of the whole block come before its arrival is counted.
  b.fenceDevice();
  b.barrier();
  Value counter = b.element(where.counters, b.getI32Type(), where.outputTile);
  Value first = b.equal(thread, b.i32(0));
  b.branchIf(first, [&] {
    Value before =
        b.create<LLVM::AtomicRMWOp>(LLVM::AtomicBinOp::add, counter, b.i32(1),
                                    LLVM::AtomicOrdering::monotonic);
    b.store(before, where.shared);
  });
  b.barrier();
  Value before = b.load(where.shared, b.getI32Type(), Cached::No);
  b.returnIf(b.lessThan(before, where.slices - 1));
  b.fenceDevice();
  b.branchIf(first, [&] { b.store(b.i32(0), counter); });

  // A few words at a time: all loads of a chunk are in flight together, and
  // a chunk's registers do not come on top of the whole tile's twice.
  constexpr int64_t kChunk = 4;
  SmallVector<Value> totals;
  for (int64_t begin = 0; begin < words; begin += kChunk) {
    int64_t count = std::min(kChunk, words - begin);
    SmallVector<Value> initial = {b.i32(where.slices),
                                  b.byteOffset(tile, begin * wordBytes)};
    initial.append(count * 4, b.zero(b.getF32Type()));
    auto addSlice = [&](ValueRange values) {
      KernelBuilder::Next next;
      b.keepRolled();
      Value left = b.add(values[0], -1);
      next.again = b.lessThan(b.i32(0), left);
      next.values = {left, b.byteOffset(values[1], words * wordBytes)};
      SmallVector<Value> parts;
      for (int64_t i = 0; i < count; ++i)
        parts.push_back(
            b.load(b.byteOffset(values[1], i * wordBytes), vector, Cached::No));
      for (auto [i, sum] : llvm::enumerate(values.drop_front(2)))
        next.values.push_back(
            b.create<arith::AddFOp>(sum, b.extract(parts[i / 4], i % 4)));
      return next;
    };
    SmallVector<Value> final = b.doWhile(initial, addSlice);
    totals.append(final.begin() + 2, final.end());
  }
  return totals;
}

} // namespace pascaline
