// TiledTranspose - a transpose that moves the innermost dimension.
//
// Read along rows, such a transpose writes along columns, one 32-byte sector
// for each element. A tile goes through shared memory instead, so that both
// sides move whole lines:
//
//   x[b][a], neighbours in a  ->  tile[b][a]  ->  y[a][b], neighbours in b
//
// Ops before the transpose are evaluated as x is read, ops after it as y is
// written.
//
// Shape:  a tile of 32 x 32 elements a block of 32 x 8 threads, four elements a
//         thread; rows of the tile are 33 words apart, so that neither side
//         meets a bank conflict. The grid covers all pairs of tiles and the
//         other dimensions.
// Cost:   reading and writing once.
// Golden: test/ptx/transpose.mlir

#include "compiler/ir/Dialect.h"
#include "compiler/ir/Types.h"
#include "compiler/kernels/Families.h"
#include "compiler/kernels/GroupKernel.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace pascaline {

static constexpr int64_t kTile = 32, kRows = 8, kThreads = kTile * kRows;
/// Below this the tiles' edges cost more than they save.
static constexpr int64_t kLeastExtent = 16;

namespace {
/// The transpose with neighbours that stay neighbours merged: extents of the
/// operand, and for each dimension of the result which one it is.
struct Merged {
  SmallVector<int64_t> extents, source;

  explicit Merged(TransposeOp transpose) {
    ArrayRef<int64_t> shape = transpose.getX().getType().getShape();
    ArrayRef<int64_t> perm = transpose.getPerm();
    // Runs of the result that are runs of the operand, ones left out.
    SmallVector<std::pair<int64_t, int64_t>> runs; // first dimension, extent
    int64_t next = -1;
    for (int64_t dimension : perm) {
      if (shape[dimension] == 1)
        continue;
      if (!runs.empty() && dimension == next)
        runs.back().second *= shape[dimension];
      else
        runs.push_back({dimension, shape[dimension]});
      next = dimension + 1;
      while (next < int64_t(shape.size()) && shape[next] == 1)
        ++next;
    }
    SmallVector<std::pair<int64_t, int64_t>> sorted(runs);
    llvm::sort(sorted);
    for (auto run : sorted)
      extents.push_back(run.second);
    for (auto run : runs)
      source.push_back(llvm::find(sorted, run) - sorted.begin());
  }

  bool movesInnermost() const {
    return extents.size() > 1 && source.back() + 1 != int64_t(extents.size());
  }
};
} // namespace

/// The only transpose of a group that every result follows.
static TransposeOp soleTranspose(FusedOp group) {
  TransposeOp found;
  llvm::DenseSet<Value> after;
  for (Operation &op : group.getBody().front()) {
    if (auto transpose = dyn_cast<TransposeOp>(op)) {
      if (found)
        return nullptr;
      found = transpose;
      after.insert(transpose.getY());
    } else if (llvm::any_of(op.getOperands(),
                            [&](Value v) { return after.contains(v); })) {
      // Elements that are used twice or dropped could not be followed.
      if (isa<SliceOp, BroadcastOp>(op))
        return nullptr;
      for (Value result : op.getResults()) {
        if (countElements(result) != countElements(found.getY()))
          return nullptr;
        after.insert(result);
      }
    }
  }
  for (Value value : group.getYield().getValues())
    if (!after.contains(value))
      return nullptr;
  return found;
}

bool wantsTiledTranspose(FusedOp group) {
  TransposeOp transpose = soleTranspose(group);
  if (!transpose)
    return false;
  Merged merged(transpose);
  return merged.movesInnermost() && merged.extents.back() >= kLeastExtent &&
         merged.extents[merged.source.back()] >= kLeastExtent;
}

FailureOr<GeneratedKernel> generateTiledTranspose(FusedOp group,
                                                  const Chip &chip) {
  TransposeOp transpose = soleTranspose(group);
  Merged merged(transpose);
  // `a` is innermost in the operand, `b` in the result.
  int64_t rank = merged.extents.size();
  int64_t a = rank - 1, bDim = merged.source.back();
  int64_t tilesA = llvm::divideCeil(merged.extents[a], kTile);
  int64_t tilesB = llvm::divideCeil(merged.extents[bDim], kTile);
  int64_t others = transpose.getX().getType().getNumElements() /
                   (merged.extents[a] * merged.extents[bDim]);
  int64_t blocks = tilesA * tilesB * others;

  GroupKernel kernel(group, kThreads);
  KernelBuilder &b = kernel.builder();
  ExpressionEmitter &emitter = kernel.emitter();
  IndexBuilder &indices = emitter.index();
  Type type = computeType(transpose.getX().getType().getElementType());
  // Bools travel as they are stored: shared memory has no bits.
  Type held = type.isInteger(1) ? Type(b.getI8Type()) : type;
  Value tile = b.shared("tile", kTile * (kTile + 1) * storageBytes(held), 16);

  Value thread = b.threadX();
  Value column = b.rem(thread, kTile), row = b.div(thread, kTile);
  AffineIndex block = indices.variable(b.blockX(), blocks);
  AffineIndex firstA = indices.modulo(block, tilesA) * kTile;
  block = indices.divide(block, tilesA);
  AffineIndex firstB = indices.modulo(block, tilesB) * kTile;
  AffineIndex other = indices.divide(block, tilesB);

  SmallVector<AffineIndex> place(rank);
  for (int64_t i = rank; i-- > 0;) {
    if (i == a || i == bDim)
      continue;
    place[i] = indices.modulo(other, merged.extents[i]);
    other = indices.divide(other, merged.extents[i]);
  }
  // A number of the tile inside its dimension, and whether it was.
  struct Inside {
    AffineIndex index;
    Value valid;
  };
  auto inside = [&](const AffineIndex &first, Value offset,
                    int64_t dimension) -> Inside {
    int64_t extent = merged.extents[dimension];
    Value raw = b.add(indices.materialize(first), offset);
    if (extent % kTile == 0)
      return {indices.variable(raw, extent), nullptr};
    return {indices.variable(b.minimum(raw, extent - 1), extent),
            b.lessThan(raw, extent)};
  };

  // In: neighbouring threads along a.
  ArrayRef<int64_t> inShape = transpose.getX().getType().getShape();
  std::vector<TensorIndex> from;
  place[a] = inside(firstA, column, a).index;
  for (int64_t step = 0; step < kTile; step += kRows) {
    place[bDim] = inside(firstB, b.add(row, step), bDim).index;
    AffineIndex sum(0);
    for (int64_t i = 0; i < rank; ++i)
      sum = sum * merged.extents[i] + place[i];
    from.push_back(TensorIndex::linear(inShape, sum));
  }
  Value into = b.add(b.mul(row, kTile + 1), column);
  for (auto [i, value] :
       llvm::enumerate(emitter.evaluate(transpose.getX(), from))) {
    Value stored = held == type ? value : emitter.toStored(value, type);
    b.store(stored,
            b.element(tile, held, b.add(into, i * kRows * (kTile + 1))));
  }
  b.barrier();

  // Out: neighbouring threads along b.
  Value outOf = b.add(b.mul(column, kTile + 1), row);
  Inside alongB = inside(firstB, column, bDim);
  place[bDim] = alongB.index;
  for (int64_t step = 0; step < kTile; step += kRows) {
    Inside alongA = inside(firstA, b.add(row, step), a);
    place[a] = alongA.index;
    AffineIndex sum(0);
    for (int64_t source : merged.source)
      sum = sum * merged.extents[source] + place[source];
    auto write = [&] {
      ExpressionEmitter::Scope scope(emitter);
      Value value =
          b.load(b.element(tile, held, b.add(outOf, step)), held, Cached::No);
      if (held != type)
        value = emitter.toCompute(value, type);
      emitter.storeResultsAfter(
          transpose,
          TensorIndex::linear(transpose.getY().getType().getShape(), sum),
          value);
    };
    Value valid = b.both(alongA.valid, alongB.valid);
    if (valid)
      b.branchIf(valid, write);
    else
      write();
  }
  return kernel.finish({blocks, 1, 1}, "tiles of 32x32");
}

} // namespace pascaline
