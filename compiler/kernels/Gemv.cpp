// Gemv - see Gemv.h.
//
// Shape:  a row of the matrix goes to a part of a warp, a warp, or a block,
//         whose threads read neighbouring 128-bit words along k; their sums
//         meet by shuffles, then through shared memory, in a fixed order. Few
//         long rows are also cut into slices, a block each, that the last block
//         to arrive adds in order (SliceSum.h).
// Cost:   reading the matrix once; the vectors come from L1 and L2.
// Golden: test/ptx/gemv.mlir

#include "compiler/kernels/Gemv.h"

#include "compiler/kernels/Combine.h"
#include "compiler/kernels/GroupKernel.h"
#include "compiler/kernels/contraction/SliceSum.h"
#include "compiler/target/Chip.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace pascaline {

static constexpr int64_t kThreads = kBlockLanes;

int64_t Gemv::rowsPerBlock() const { return kThreads / lanes; }

std::array<int64_t, 3> Gemv::grid() const {
  return {int64_t(llvm::divideCeil(batch * rows, rowsPerBlock())), slices, 1};
}

std::string Gemv::text() const {
  std::string text =
      llvm::formatv("{0} lanes, {1} elements a step", lanes, width).str();
  if (slices > 1)
    text += llvm::formatv(", {0} slices", slices).str();
  return text;
}

std::optional<std::string> checkGemv(const Gemv &g) {
  if (g.batch < 1 || g.rows < 1 || g.k < 1 || g.few < 1)
    return llvm::formatv("{0} products of {1}x{2} with {3} vectors are empty",
                         g.batch, g.rows, g.k, g.few)
        .str();
  if (g.few > Gemv::kFew)
    return llvm::formatv("{0} vectors are more than {1}", g.few, Gemv::kFew)
        .str();
  if (g.k % (g.width * g.slices) != 0)
    return llvm::formatv("{0} slices of whole steps of {1} do not divide a "
                         "depth of {2}",
                         g.slices, g.width, g.k)
        .str();
  if (g.slices > 1 && g.lanes != kThreads)
    return llvm::formatv("slices need the {0} threads of a block for a row, "
                         "not {1}",
                         kThreads, g.lanes)
        .str();
  if (g.grid()[0] > Chip::kMaxGridX)
    return llvm::formatv("{0} blocks are more than a grid's {1}", g.grid()[0],
                         Chip::kMaxGridX)
        .str();
  return std::nullopt;
}

/// Whether the operand is a plain matrix: no window, one axis a side.
static bool isPlain(const Operand &operand) {
  return operand.bounds.empty() && operand.x.size() == 1 &&
         operand.k.size() == 1;
}

static Operand simplified(const Side &side) {
  Operand operand = side.operand;
  simplify(operand);
  return operand;
}

/// Few rows are cut until blocks fill the chip, as long as each still has some
/// rounds of loads to do.
static int64_t chooseSlices(const Gemv &g, const Chip &chip) {
  constexpr int64_t kLeastSteps = 4;
  int64_t slices = 1;
  for (int64_t s = 2; s * g.batch * g.rows <= 2 * chip.multiprocessors; ++s)
    if (g.k % (s * g.width) == 0 && g.k / s >= kLeastSteps * kThreads * g.width)
      slices = s;
  return slices;
}

std::optional<Gemv> planGemv(const GroupContraction &c, const Chip &chip) {
  for (bool matrixIsA : {false, true}) {
    int64_t few = matrixIsA ? c.n : c.m;
    const Side &side = matrixIsA ? c.a : c.b;
    Operand matrix = simplified(side);
    Operand vectors = simplified(matrixIsA ? c.b : c.a);
    if (few > Gemv::kFew || !isPlain(matrix) || !isPlain(vectors))
      continue;
    Gemv g;
    g.batch = 1;
    for (int64_t extent : c.batch)
      g.batch *= extent;
    g.rows = matrixIsA ? c.m : c.n;
    g.k = c.k;
    g.few = few;
    g.matrixIsA = matrixIsA;
    g.packs = g.k > 1 && matrix.k[0].stride != 1;
    if (g.packs && (!canPack(c.group, side) || side.packing->taps != 1))
      continue;
    g.width = 16 / storageBytes(matrix.element);
    while (g.k % g.width != 0)
      g.width /= 2;
    g.lanes =
        chooseLanes(g.batch * g.rows, g.k / g.width, chip.multiprocessors);
    if (g.lanes == kThreads)
      g.slices = chooseSlices(g, chip);
    if (!checkGemv(g))
      return g;
  }
  return std::nullopt;
}

namespace {
class GemvGenerator {
public:
  GemvGenerator(const GroupContraction &c, const Gemv &g)
      : c(c), g(g), matrixSide(g.matrixIsA ? c.a : c.b),
        matrix(simplified(matrixSide)),
        vectors(simplified(g.matrixIsA ? c.b : c.a)),
        kernel(c.group, kThreads,
               {0,
                g.slices > 1 ? g.rows * g.batch * g.slices * kThreads * 16 : 0,
                g.slices > 1 ? g.rows * g.batch : 0}),
        b(kernel.builder()), emitter(kernel.emitter()),
        indices(emitter.index()), combiner(b, ReduceKind::sum, b.getF32Type()) {
  }

  FailureOr<GeneratedKernel> generate();

private:
  void pack();
  AffineIndex startOf(const Operand &operand) const;
  SmallVector<Value> multiplyAdd(ArrayRef<AffineIndex> at,
                                 ArrayRef<Value> carried, Value valid);
  SmallVector<Value> sumShare(RowShare share);
  void store(ArrayRef<Value> sums);

  const GroupContraction &c;
  const Gemv &g;
  const Side &matrixSide;
  Operand matrix, vectors;
  GroupKernel kernel;
  KernelBuilder &b;
  ExpressionEmitter &emitter;
  IndexBuilder &indices;
  Combiner combiner;

  SmallVector<AffineIndex> batch; ///< coordinates
  AffineIndex row, firstK;
};
} // namespace

/// Lays the constant matrix out as [group][row][k]. Packing calls what is
/// innermost m, so the roles of row and k are exchanged.
void GemvGenerator::pack() {
  WeightPacking packing = *matrixSide.packing;
  std::swap(packing.m, packing.channels);
  std::swap(packing.mStride, packing.cStride);
  packing.channelsPadded = packing.kPadded = packing.channels;
  packing.mPadded = packing.m;
  kernel.setPacking(matrixSide.view.operand, packing);
  matrix.x = {{g.rows, g.k}};
  matrix.k = {{g.k, 1}};
  matrix.offset = 0;
  matrix.batchStrides.clear();
  for (int64_t stride : matrixSide.packedBatch)
    matrix.batchStrides.push_back(stride * g.rows * g.k);
}

/// The element (0, 0) of this thread's batch.
AffineIndex GemvGenerator::startOf(const Operand &operand) const {
  AffineIndex start(operand.offset);
  for (auto [coordinate, stride] : llvm::zip(batch, operand.batchStrides))
    start = start + coordinate * stride;
  return start;
}

/// Adds the products of the row's elements at some places of k: width sums a
/// vector. Where `valid` is not null and does not hold, nothing counts.
SmallVector<Value> GemvGenerator::multiplyAdd(ArrayRef<AffineIndex> at,
                                              ArrayRef<Value> carried,
                                              Value valid) {
  auto read = [&](const Side &side, const Operand &operand,
                  const AffineIndex &x) {
    SmallVector<AffineIndex> places;
    for (const AffineIndex &k : at)
      places.push_back(startOf(operand) + x * operand.x[0].stride +
                       (firstK + k) * operand.k[0].stride);
    return emitter.load(kernel.input(side.view.operand), operand.element,
                        places);
  };
  SmallVector<Value> elements = read(matrixSide, matrix, row);
  SmallVector<Value> sums(carried);
  for (int64_t f = 0; f < g.few; ++f) {
    SmallVector<Value> factors =
        read(g.matrixIsA ? c.b : c.a, vectors, AffineIndex(f));
    for (auto [i, factor] : llvm::enumerate(factors)) {
      Value &sum = sums[f * g.width + i % g.width];
      Value added = b.create<LLVM::FMAOp>(elements[i], factor, sum);
      // The sum is kept, not a product with zero, which may be NaN.
      sum = valid ? b.select(valid, added, sum) : added;
    }
  }
  return sums;
}

/// A sum for each vector, over the lanes that share the row.
SmallVector<Value> GemvGenerator::sumShare(RowShare share) {
  SmallVector<Value> parts(g.few * g.width, combiner.identity());
  parts = forEachStep(b, emitter, share, parts,
                      [&](ArrayRef<AffineIndex> at, ArrayRef<Value> carried) {
                        return multiplyAdd(at, carried, nullptr);
                      });
  if (share.hasTail()) {
    RowTail tail = rowTail(b, indices, share);
    parts = multiplyAdd(tail.at, parts, tail.valid);
  }
  Value shared;
  if (share.lanes == kThreads)
    shared = b.shared("parts", kThreads / Chip::kWarpSize * 4, 16);
  SmallVector<Value> sums;
  for (int64_t f = 0; f < g.few; ++f) {
    Value sum = combiner.tree(ArrayRef(parts).slice(f * g.width, g.width));
    sums.push_back(shared ? combineBlock(b, combiner, sum, kThreads, shared)
                          : combineLanes(b, combiner, sum, share.lanes));
  }
  if (g.slices == 1)
    return sums;
  // Slices meet in 128-bit words.
  sums.resize(Gemv::kFew, combiner.identity());
  sums = sumSlices(b, sums,
                   {kernel.workspace(), kernel.counters(), b.blockX(),
                    b.blockY(), shared, g.slices, kThreads});
  sums.truncate(g.few);
  return sums;
}

void GemvGenerator::store(ArrayRef<Value> sums) {
  ExpressionEmitter::Scope scope(emitter);
  auto type = cast<RankedTensorType>(
      FusedOp(c.group).getAnchor()->getResult(0).getType());
  std::vector<TensorIndex> at;
  for (int64_t f = 0; f < g.few; ++f) {
    AffineIndex m = g.matrixIsA ? row : AffineIndex(f);
    AffineIndex n = g.matrixIsA ? AffineIndex(f) : row;
    at.push_back(TensorIndex::linear(type.getShape(), c.row(batch, m) + n));
  }
  emitter.storeResults(at, sums);
}

FailureOr<GeneratedKernel> GemvGenerator::generate() {
  if (g.packs)
    pack();
  RowShare share;
  share.count = g.k / g.slices;
  share.width = g.width;
  share.lanes = g.lanes;

  int64_t total = g.batch * g.rows, rowsPerBlock = g.rowsPerBlock();
  bool partial = total % rowsPerBlock != 0;
  Value thread = b.threadX();
  Value lane = b.rem(thread, g.lanes);
  Value number = b.add(b.mul(b.blockX(), rowsPerBlock), b.div(thread, g.lanes));
  share.lane = indices.variable(lane, g.lanes);
  // Threads beyond the last row repeat it: they take part in the shuffles.
  AffineIndex place =
      indices.variable(partial ? b.minimum(number, total - 1) : number, total);
  row = indices.modulo(place, g.rows);
  AffineIndex rest = indices.divide(place, g.rows);
  for (int64_t extent : llvm::reverse(c.batch)) {
    batch.insert(batch.begin(), indices.modulo(rest, extent));
    rest = indices.divide(rest, extent);
  }
  if (g.slices > 1)
    firstK = indices.variable(b.blockY(), g.slices) * share.count;

  SmallVector<Value> sums = sumShare(share);
  Value stores;
  if (g.lanes > 1)
    stores = b.equal(lane, b.i32(0));
  if (partial)
    stores = b.both(stores, b.lessThan(number, total));
  if (stores)
    b.branchIf(stores, [&] { store(sums); });
  else
    store(sums);
  return kernel.finish(g.grid(), g.text());
}

FailureOr<GeneratedKernel> generateGemv(const GroupContraction &contraction,
                                        const Gemv &gemv) {
  return GemvGenerator(contraction, gemv).generate();
}

} // namespace pascaline
