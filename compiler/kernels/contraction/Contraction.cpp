// Contraction - see Contraction.h.
//
// The main loop computes one stage of bk steps an iteration. While a step's
// multiply-adds run, the next step's fragments (tm + tn values) come from
// shared memory, and while the whole stage runs, the next one's elements come
// from global memory into registers; they are written to the other stage before
// the last step. So one barrier a stage is enough: it stands between the last
// read of the old stage, done a step earlier, and the first of the new one.
//
//   fetch stage 0, write it, barrier, read fragments of step 0
//   loop: fetch next stage
//         step 0 .. bk-2: multiply-adds, meanwhile read the next fragments
//         write next stage, barrier
//         step bk-1: multiply-adds, meanwhile read fragments of its step 0
//
// The last iteration fetches nothing (its loads are predicated off).

#include "compiler/kernels/contraction/Contraction.h"

#include "compiler/kernels/contraction/Banks.h"
#include "compiler/kernels/contraction/SliceSum.h"
#include "compiler/target/Chip.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace pascaline {

int64_t Contraction::batchCount() const {
  int64_t count = 1;
  for (int64_t extent : batch)
    count *= extent;
  return count;
}

int64_t Contraction::workspaceBytes() const {
  return slices > 1 ? outputTiles() * slices * tile.bm * tile.bn * 4 : 0;
}

std::string Contraction::text() const {
  std::string text = tile.text();
  if (slices > 1)
    text += llvm::formatv(", {0} slices", slices).str();
  return text;
}

std::optional<std::string> checkContraction(const Contraction &c) {
  if (auto problem = checkTile(c.tile))
    return problem;
  for (const Operand *operand : {&c.a, &c.b})
    if (auto problem = checkOperand(*operand))
      return problem;
  if (c.m < 1 || c.n < 1 || c.k < 1)
    return llvm::formatv("a contraction of {0}x{1}x{2} is empty", c.m, c.n, c.k)
        .str();
  if (c.slices < 1 || c.slices > c.tilesK())
    return llvm::formatv("{0} slices of a depth of {1} stages leave some empty",
                         c.slices, c.tilesK())
        .str();
  if (c.alongM && c.m % 4 != 0)
    return llvm::formatv("{0} rows cannot be handed over in fours", c.m).str();
  if (c.slices > Chip::kMaxGridYZ)
    return llvm::formatv("{0} slices are more than a grid's {1}", c.slices,
                         Chip::kMaxGridYZ)
        .str();
  constexpr int64_t kMostWorkspace = int64_t(1) << 31;
  if (c.workspaceBytes() > kMostWorkspace)
    return llvm::formatv("{0} bytes of partial sums are more than {1}",
                         c.workspaceBytes(), kMostWorkspace)
        .str();
  if (c.outputTiles() > Chip::kMaxGridX)
    return llvm::formatv("{0} tiles are more than a grid's {1} blocks",
                         c.outputTiles(), Chip::kMaxGridX)
        .str();
  return std::nullopt;
}

namespace {

class Emitter {
public:
  Emitter(KernelBuilder &b, const Contraction &c,
          const ContractionPointers &pointers)
      : b(b), c(c), t(c.tile), pointers(pointers), a(b, c.a, "a", t.bm, t),
        bb(b, c.b, "b", t.bn, t) {}

  void emit(const Epilogue &epilogue);

private:
  struct Fragments {
    SmallVector<Value> a, b;
  };
  void locate();
  Fragments readFragments(Value offsetA, Value offsetB, int64_t step);
  void multiplyAdd(SmallVector<Value> &sums, const Fragments &fragments,
                   llvm::function_ref<void()> meanwhile);
  SmallVector<Value> accumulate();
  void finish(ArrayRef<Value> sums, const Epilogue &epilogue);
  Value at(Value offset) { return b.byteOffset(shared, offset); }

  KernelBuilder &b;
  const Contraction &c;
  const Tile &t;
  const ContractionPointers &pointers;
  OperandLoader a, bb;

  Value shared;
  Value tileM, tileN, outputTile; ///< tile numbers
  SmallVector<Value> batch;
  Value slice;
  Value threadM, threadN; ///< of this thread's first sum, in the tile
};

} // namespace

/// Block and thread numbers to places in the output.
void Emitter::locate() {
  outputTile = b.blockX();
  SmallVector<int64_t> extents(c.batch);
  llvm::append_range(extents, ArrayRef<int64_t>{c.tilesN(), c.tilesM()});
  batch = b.coordinates(outputTile, extents);
  tileM = batch.pop_back_val();
  tileN = batch.pop_back_val();
  slice = c.slices > 1 ? b.blockY() : b.i32(0);

  // Within a warp, lanes are dealt so that the eight of a quarter read few
  // distinct 128-bit words of either operand: the lowest bit and the bits from
  // the fourth up go to the shorter side, the rest to the longer.
  Value thread = b.threadX();
  Value lane = b.rem(thread, 32), warp = b.div(thread, 32);
  bool tall = t.lanesM >= t.lanesN;
  int64_t longer = tall ? t.lanesM : t.lanesN;
  int64_t shorter = 32 / longer;
  Value longAt, shortAt;
  if (shorter == 1) {
    longAt = lane;
    shortAt = b.i32(0);
  } else {
    longAt = b.rem(b.div(lane, 2), longer);
    Value high = b.div(lane, 2 * longer);
    shortAt = b.bitOr(b.mul(high, 2), b.bitAnd(lane, 1));
  }
  Value laneM = tall ? longAt : shortAt, laneN = tall ? shortAt : longAt;
  Value warpM = b.rem(warp, t.warpsM()), warpN = b.div(warp, t.warpsM());
  threadM = b.add(b.mul(warpM, t.lanesM * t.tm), b.mul(laneM, 4));
  threadN = b.add(b.mul(warpN, t.lanesN * t.tn), b.mul(laneN, 4));
}

/// A thread's rows are groups of 4 that lie lanes * 4 apart, so that the lanes
/// of a warp read adjoining 128-bit words.
static int64_t spread(int64_t i, int64_t lanes) {
  return i / 4 * lanes * 4 + i % 4;
}

Emitter::Fragments Emitter::readFragments(Value offsetA, Value offsetB,
                                          int64_t step) {
  auto vector = VectorType::get({4}, b.getF32Type());
  auto read = [&](Value offset, int64_t count, int64_t lanes, int64_t row) {
    SmallVector<Value> values;
    for (int64_t i = 0; i < count; i += 4) {
      Value pointer = b.byteOffset(at(offset), (row + spread(i, lanes)) * 4);
      Value loaded = b.load(pointer, vector, Cached::No);
      for (int64_t lane = 0; lane < 4; ++lane)
        values.push_back(b.extract(loaded, lane));
    }
    return values;
  };
  Fragments fragments;
  fragments.a = read(offsetA, t.tm, t.lanesM, step * t.bm);
  fragments.b = read(offsetB, t.tn, t.lanesN, step * t.bn);
  return fragments;
}

void Emitter::multiplyAdd(SmallVector<Value> &sums, const Fragments &fragments,
                          llvm::function_ref<void()> meanwhile) {
  for (auto [count, pair] : llvm::enumerate(t.order.pairs(t.tm, t.tn))) {
    if (static_cast<int64_t>(count) == t.order.loadAfter)
      meanwhile();
    auto [i, j] = pair;
    Value &sum = sums[i * t.tn + j];
    sum = b.create<LLVM::FMAOp>(fragments.a[i], fragments.b[j], sum);
  }
}

SmallVector<Value> Emitter::accumulate() {
  int64_t stageA = t.bm * t.bk * 4, stageB = t.bn * t.bk * 4;
  // Stages are switched by xor, so each operand's pair starts at a multiple of
  // its own size: the larger pair first.
  int64_t baseA = stageA >= stageB ? 0 : 2 * stageB;
  int64_t baseB = stageA >= stageB ? 2 * stageA : 0;
  shared = b.shared("stages", t.sharedBytes(), /*align=*/128);

  // The first slices take one tile more where the tiles do not divide evenly.
  int64_t each = c.tilesK() / c.slices, over = c.tilesK() % c.slices;
  Value firstTile = b.mul(slice, each), count = b.i32(each);
  if (over) {
    firstTile = b.add(firstTile, b.minimum(slice, over));
    count = b.select(b.lessThan(slice, over), b.i32(each + 1), count);
  }

  SmallVector<Value> stateA =
      a.setUp(pointers.a, batch, b.mul(tileM, t.bm), firstTile);
  SmallVector<Value> stateB =
      bb.setUp(pointers.b, batch, b.mul(tileN, t.bn), firstTile);
  SmallVector<Value> fetchedA = a.fetch(stateA, nullptr, /*first=*/true);
  SmallVector<Value> fetchedB = bb.fetch(stateB, nullptr, /*first=*/true);
  Value writeA = b.add(a.sharedOffset(), baseA);
  Value writeB = b.add(bb.sharedOffset(), baseB);
  a.stage(fetchedA, at(writeA));
  bb.stage(fetchedB, at(writeB));
  b.barrier();
  Value readA = b.add(b.mul(threadM, 4), baseA);
  Value readB = b.add(b.mul(threadN, 4), baseB);
  Fragments fragments = readFragments(readA, readB, 0);

  SmallVector<Value> sums(t.tm * t.tn, b.zero(b.getF32Type()));
  if (c.tilesK() == c.slices) { // one tile each: nothing to fetch ahead

    for (int64_t step = 0; step < t.bk; ++step) {
      Fragments next;
      multiplyAdd(sums, fragments, [&] {
        if (step + 1 < t.bk)
          next = readFragments(readA, readB, step + 1);
      });
      fragments = next;
    }
    return sums;
  }

  SmallVector<Value> initial = {count, b.bitXor(writeA, stageA),
                                b.bitXor(writeB, stageB), readA, readB};
  size_t fixed = initial.size();
  llvm::append_range(initial, a.advance(stateA));
  llvm::append_range(initial, bb.advance(stateB));
  llvm::append_range(initial, fragments.a);
  llvm::append_range(initial, fragments.b);
  llvm::append_range(initial, sums);
  auto body = [&](ValueRange values) {
    auto take = [&](size_t size) {
      ValueRange taken = values.take_front(size);
      values = values.drop_front(size);
      return taken;
    };
    ValueRange scalars = take(fixed);
    Value writeA = scalars[1], writeB = scalars[2];
    Value readA = scalars[3], readB = scalars[4];
    ValueRange stateA = take(this->a.stateSize());
    ValueRange stateB = take(bb.stateSize());
    Fragments fragments;
    llvm::append_range(fragments.a, take(t.tm));
    llvm::append_range(fragments.b, take(t.tn));
    SmallVector<Value> sums(take(t.tm * t.tn));

    Value left = b.add(scalars[0], -1);
    Value more = b.lessThan(b.i32(0), left);
    SmallVector<Value> fetchedA = a.fetch(stateA, more, /*first=*/false);
    SmallVector<Value> fetchedB = bb.fetch(stateB, more, /*first=*/false);
    SmallVector<Value> nextA = a.advance(stateA), nextB = bb.advance(stateB);
    for (int64_t step = 0; step + 1 < t.bk; ++step) {
      Fragments next;
      multiplyAdd(sums, fragments,
                  [&] { next = readFragments(readA, readB, step + 1); });
      fragments = next;
    }
    a.stage(fetchedA, at(writeA));
    bb.stage(fetchedB, at(writeB));
    b.barrier();
    readA = b.bitXor(readA, stageA);
    readB = b.bitXor(readB, stageB);
    Fragments next;
    multiplyAdd(sums, fragments,
                [&] { next = readFragments(readA, readB, 0); });

    KernelBuilder::Next result;
    result.again = more;
    result.values = {left, b.bitXor(writeA, stageA), b.bitXor(writeB, stageB),
                     readA, readB};
    llvm::append_range(result.values, nextA);
    llvm::append_range(result.values, nextB);
    llvm::append_range(result.values, next.a);
    llvm::append_range(result.values, next.b);
    llvm::append_range(result.values, sums);
    return result;
  };
  SmallVector<Value> final = b.doWhile(initial, body);
  return SmallVector<Value>(ArrayRef(final).take_back(t.tm * t.tn));
}

/// Hands the sums to the epilogue, a group at a time. Places past the edge are
/// moved to the last row or column, so that whatever the epilogue reads exists.
void Emitter::finish(ArrayRef<Value> sums, const Epilogue &epilogue) {
  Value firstM = b.add(b.mul(tileM, t.bm), threadM);
  Value firstN = b.add(b.mul(tileN, t.bn), threadN);
  int64_t widthM = c.alongM ? 4 : 1;
  int64_t widthN = !c.alongM && c.n % 4 == 0 ? 4 : 1;
  auto place = [&](Value first, int64_t count, int64_t lanes, int64_t index,
                   int64_t extent, int64_t tile, int64_t width, Value &inside) {
    int64_t plus = spread(index, lanes);
    if (extent % tile == 0)
      return Place{first, plus, extent - spread(count - 1, lanes)};
    Value at = b.add(first, plus);
    inside = b.lessThan(at, extent);
    return Place{b.minimum(at, extent - width), 0, extent};
  };
  SmallVector<Place> columns;
  SmallVector<Value> columnInside;
  for (int64_t j = 0; j < t.tn; j += widthN)
    columns.push_back(place(firstN, t.tn, t.lanesN, j, c.n, t.bn, widthN,
                            columnInside.emplace_back()));
  for (int64_t i = 0; i < t.tm; i += widthM) {
    Value rowInside;
    Place m = place(firstM, t.tm, t.lanesM, i, c.m, t.bm, widthM, rowInside);
    for (auto [group, n] : llvm::enumerate(columns)) {
      OutputGroup output;
      output.batch = batch;
      output.m = m;
      output.n = n;
      output.inside = b.both(rowInside, columnInside[group]);
      SmallVector<Value> together;
      for (int64_t w = 0; w < std::max(widthM, widthN); ++w)
        together.push_back(c.alongM ? sums[(i + w) * t.tn + group]
                                    : sums[i * t.tn + group * widthN + w]);
      output.sums = together;
      epilogue(b, output);
    }
  }
}

void Emitter::emit(const Epilogue &epilogue) {
  locate();
  SmallVector<Value> sums = accumulate();
  if (c.slices > 1) {
    SmallVector<int64_t> order = storeOrder(t.tm, t.tn);
    SmallVector<Value> parts =
        llvm::map_to_vector(order, [&](int64_t i) { return sums[i]; });
    SmallVector<Value> totals =
        sumSlices(b, parts,
                  {pointers.workspace, pointers.counters, outputTile, slice,
                   shared, c.slices, t.threads()});
    for (auto [i, total] : llvm::zip(order, totals))
      sums[i] = total;
  }
  finish(sums, epilogue);
}

void emitContraction(KernelBuilder &b, const Contraction &contraction,
                     const ContractionPointers &pointers,
                     const Epilogue &epilogue) {
  Emitter(b, contraction, pointers).emit(epilogue);
}

} // namespace pascaline
