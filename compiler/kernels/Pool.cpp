// Pool - the largest element or the mean of each window.
//
// Shape:  a thread computes a tile of neighbouring outputs of one plane, so
//         that overlapping windows share loads; block = kThreads. Windows of
//         up to kUnrolled elements are unrolled, larger ones looped over.
// Cost:   reading x about once (neighbours meet in the cache), writing y.
// Golden: test/ptx/pool.mlir

#include "compiler/ir/Dialect.h"
#include "compiler/ir/Layout.h"
#include "compiler/ir/Types.h"
#include "compiler/kernels/Combine.h"
#include "compiler/kernels/Families.h"
#include "compiler/kernels/GroupKernel.h"
#include "compiler/kernels/Windows.h"
#include "compiler/target/Chip.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace pascaline {

static constexpr int64_t kThreads = 128;
static constexpr int64_t kUnrolled = 64;
static constexpr int64_t kMostOutputs = 4;
/// ptxas spills an unrolled window of halves to reach 48 registers, unless it
/// is told how few blocks are wanted: 64 are left for each thread.
static constexpr int64_t kHalfBlocks = 8;

/// Channels that lie side by side in the result's memory; 1 where pixels do.
static int64_t channelLanes(FusedOp group) {
  auto type = cast<RankedTensorType>(group.getOutputs()[0].getType());
  MemoryAxis inner = memoryLayout(type).axes.back();
  return type.getEncoding() && inner.dim == 1 ? inner.extent : 1;
}

static bool readsHalf(FusedOp group) {
  return llvm::any_of(group.getInputs().getTypes(), [](Type type) {
    return cast<RankedTensorType>(type).getElementType().isF16();
  });
}

namespace {
template <typename PoolOp> class PoolGenerator {
public:
  PoolGenerator(FusedOp group, PoolOp pool, const Chip &chip)
      : pool(pool), chip(chip), lanes(channelLanes(group)),
        kernel(group, kThreads, {readsHalf(group) ? kHalfBlocks : 0, 0, 0}),
        b(kernel.builder()),
        combiner(b, kIsMax ? ReduceKind::max : ReduceKind::sum,
                 pool.getX().getType().getElementType()),
        dims(windowDims(pool.getX().getType().getShape(),
                        pool.getY().getType().getShape(), pool.getWindow(),
                        pool.getStrides(), pool.getDilations(),
                        pool.getPadsBegin())) {}

  FailureOr<GeneratedKernel> generate();

private:
  static constexpr bool kIsMax = std::is_same_v<PoolOp, MaxPoolOp>;

  SmallVector<Value> combineTaps(const std::array<AffineIndex, 3> &firstTap,
                                 const WindowOffset &taps,
                                 ArrayRef<Value> carried);
  Value counted(unsigned dimension, const AffineIndex &output);
  Value divisor(const WindowOffset &offset);

  PoolOp pool;
  const Chip &chip;
  int64_t lanes;
  GroupKernel kernel;
  KernelBuilder &b;
  Combiner combiner;
  WindowDims dims;
  WindowTile tile;
};
} // namespace

/// Adds `taps` taps of each output's window, from `firstTap` on.
template <typename PoolOp>
SmallVector<Value>
PoolGenerator<PoolOp>::combineTaps(const std::array<AffineIndex, 3> &firstTap,
                                   const WindowOffset &taps,
                                   ArrayRef<Value> carried) {
  WindowReader reader(b, kernel.emitter(), pool.getX(), dims, tile.plane,
                      windowStart(dims, tile, firstTap), combiner.identity());
  std::vector<WindowOffset> outputs = tileOffsets(dims), offsets;
  for (const WindowOffset &output : outputs)
    for (const WindowOffset &tap : tapOffsets(taps))
      offsets.push_back(underTap(dims, output, tap));
  SmallVector<Value> values = reader.read(offsets);
  size_t each = values.size() / outputs.size();
  SmallVector<Value> next(carried);
  for (size_t o = 0; o < outputs.size(); ++o)
    for (size_t t = 0; t < each; ++t)
      next[o] = combiner(next[o], values[o * each + t]);
  return next;
}

/// How many taps of an output's window along a dimension count in the mean.
template <typename PoolOp>
Value PoolGenerator<PoolOp>::counted(unsigned dimension,
                                     const AffineIndex &output) {
  const WindowDim &dim = dims[dimension];
  int64_t low = 0, high = dim.in;
  if constexpr (!kIsMax) {
    int64_t missing = dims.size() - pool.getWindow().size();
    if (dimension >= missing) {
      low = -pool.getCountedBegin()[dimension - missing];
      high += pool.getCountedEnd()[dimension - missing];
    }
  }
  IndexBuilder &indices = kernel.emitter().index();
  AffineIndex start = output * dim.stride + AffineIndex(-dim.begin);
  auto [least, most] = indices.range(start);
  if (least >= low && most + (dim.window - 1) * dim.dilation < high)
    return b.i32(dim.window);
  // Taps i with low <= start + i * dilation < high.
  Value at = indices.materialize(start);
  auto tapsBefore = [&](int64_t bound) {
    Value distance = b.create<arith::MaxSIOp>(
        b.i32(0), b.sub(b.i32(bound + dim.dilation - 1), at));
    return b.minimum(b.div(distance, dim.dilation), dim.window);
  };
  return b.sub(tapsBefore(high), tapsBefore(low));
}

template <typename PoolOp>
Value PoolGenerator<PoolOp>::divisor(const WindowOffset &offset) {
  Value product = b.i32(1);
  for (unsigned i = 0; i < 3; ++i)
    product =
        b.mul(product, counted(i, tile.first[i] + AffineIndex(offset[i])));
  return b.create<arith::SIToFPOp>(
      computeType(pool.getX().getType().getElementType()), product);
}

template <typename PoolOp>
FailureOr<GeneratedKernel> PoolGenerator<PoolOp>::generate() {
  ArrayRef<int64_t> shape = pool.getY().getType().getShape();
  int64_t planes = shape[0] * shape[1];
  chooseTile(dims, planes, kMostOutputs,
             chip.multiprocessors * Chip::kMaxThreads);
  int64_t tiles = planes * planeTiles(dims);
  int64_t blocks = llvm::divideCeil(tiles, kThreads);
  ExpressionEmitter &emitter = kernel.emitter();
  tile = WindowTile::of(emitter.index(), dims, kernel.flatThread(tiles), lanes);

  SmallVector<Value> values = forEachTaps(
      b, emitter, dims, kUnrolled,
      SmallVector<Value>(tileOffsets(dims).size(), combiner.identity()),
      [&](const std::array<AffineIndex, 3> &firstTap, const WindowOffset &taps,
          ArrayRef<Value> carried) {
        return combineTaps(firstTap, taps, carried);
      });
  if (!kIsMax)
    for (auto [value, offset] : llvm::zip(values, tileOffsets(dims)))
      value = b.create<arith::DivFOp>(value, divisor(offset));

  std::vector<TensorIndex> at;
  for (const AffineIndex &output : tileOutputs(dims, tile))
    at.push_back(TensorIndex::linear(shape, output));
  emitter.storeResults(at, values);
  return kernel.finish({blocks, 1, 1}, std::to_string(dims[1].tile) + "x" +
                                           std::to_string(dims[2].tile) +
                                           " outputs a thread");
}

FailureOr<GeneratedKernel> generatePool(FusedOp group, const Chip &chip) {
  Operation *anchor = group.getAnchor();
  if (countElements(anchor->getOperand(0)) == 0)
    return group.emitError()
           << "pools a tensor without elements; a window needs one";
  if (auto pool = dyn_cast<MaxPoolOp>(anchor))
    return PoolGenerator<MaxPoolOp>(group, pool, chip).generate();
  return PoolGenerator<AvgPoolOp>(group, cast<AvgPoolOp>(anchor), chip)
      .generate();
}

} // namespace pascaline
