// Depthwise - convolution with one input channel a group.
//
// Nothing is summed over channels, so there is no contraction worth tiling
// through shared memory: a thread computes a tile of neighbouring outputs of
// one plane, keeping the elements under it and one filter in registers.
//
// Shape:  up to kMostOutputs outputs a thread, fewer where planes are small;
//         block = kThreads; windows of up to kUnrolled taps are unrolled, of
//         larger ones only the rows.
// Cost:   reading x about once, writing y; bandwidth.
// Golden: test/ptx/depthwise.mlir

#include "compiler/ir/Dialect.h"
#include "compiler/ir/Types.h"
#include "compiler/kernels/Families.h"
#include "compiler/kernels/GroupKernel.h"
#include "compiler/kernels/Windows.h"
#include "compiler/target/Chip.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace pascaline {

static constexpr int64_t kThreads = 128;
static constexpr int64_t kUnrolled = 49;
static constexpr int64_t kMostOutputs = 8;
/// ptxas spills some unrolled windows to reach 32 registers, unless it is told
/// how few blocks are wanted: 40 are left for each thread.
static constexpr int64_t kBlocks = 12;
/// Windows of more taps take as many registers as they need.
static constexpr int64_t kTapsInBlocks = 9;

static int64_t tapsOf(ConvOp conv) {
  ArrayRef<int64_t> weights = conv.getW().getType().getShape();
  return ShapedType::getNumElements(weights.drop_front(2));
}

namespace {
class DepthwiseGenerator {
public:
  DepthwiseGenerator(FusedOp group, ConvOp conv, const Chip &chip)
      : conv(conv), chip(chip),
        kernel(group, kThreads,
               {tapsOf(conv) <= kTapsInBlocks ? kBlocks : 0, 0, 0}),
        b(kernel.builder()),
        dims(windowDims(
            conv.getX().getType().getShape(), conv.getY().getType().getShape(),
            conv.getW().getType().getShape().drop_front(2), conv.getStrides(),
            conv.getDilations(), conv.getPadsBegin())),
        channels(conv.getY().getType().getShape()[1]) {}

  FailureOr<GeneratedKernel> generate();

private:
  SmallVector<Value> addTaps(const std::array<AffineIndex, 3> &firstTap,
                             const WindowOffset &taps, ArrayRef<Value> carried);

  ConvOp conv;
  const Chip &chip;
  GroupKernel kernel;
  KernelBuilder &b;
  WindowDims dims;
  int64_t channels; ///< of the output
  WindowTile tile;
};
} // namespace

SmallVector<Value>
DepthwiseGenerator::addTaps(const std::array<AffineIndex, 3> &firstTap,
                            const WindowOffset &taps, ArrayRef<Value> carried) {
  ExpressionEmitter &emitter = kernel.emitter();
  IndexBuilder &indices = emitter.index();
  Type element = conv.getX().getType().getElementType();

  AffineIndex firstWeight = indices.modulo(tile.plane, channels);
  for (int i = 0; i < 3; ++i)
    firstWeight = firstWeight * dims[i].window + firstTap[i];
  std::vector<TensorIndex> filter;
  for (const WindowOffset &tap : tapOffsets(taps))
    filter.push_back(TensorIndex::linear(
        conv.getW().getType().getShape(),
        firstWeight +
            AffineIndex((tap[0] * dims[1].window + tap[1]) * dims[2].window +
                        tap[2])));
  SmallVector<Value> weights = emitter.evaluate(conv.getW(), filter);

  // Output channels m * k ... m * k + k - 1 read input channel m.
  int64_t multiplier = channels / conv.getGroups();
  WindowReader reader(
      b, emitter, conv.getX(), dims, indices.divide(tile.plane, multiplier),
      windowStart(dims, tile, firstTap), b.zero(computeType(element)));
  std::vector<WindowOffset> outputs = tileOffsets(dims), offsets;
  for (const WindowOffset &tap : tapOffsets(taps))
    for (const WindowOffset &output : outputs)
      offsets.push_back(underTap(dims, output, tap));
  SmallVector<Value> values = reader.read(offsets);
  SmallVector<Value> sums(carried);
  for (size_t t = 0; t < weights.size(); ++t)
    for (size_t o = 0; o < outputs.size(); ++o)
      sums[o] = b.create<LLVM::FMAOp>(values[t * outputs.size() + o],
                                      weights[t], sums[o]);
  return sums;
}

FailureOr<GeneratedKernel> DepthwiseGenerator::generate() {
  ArrayRef<int64_t> shape = conv.getY().getType().getShape();
  int64_t planes = shape[0] * shape[1];
  chooseTile(dims, planes, kMostOutputs, chip.multiprocessors * 512);
  int64_t tiles = planes * planeTiles(dims);
  int64_t blocks = llvm::divideCeil(tiles, kThreads);
  ExpressionEmitter &emitter = kernel.emitter();
  tile = WindowTile::of(emitter.index(), dims, kernel.flatThread(tiles));

  Value zero = b.zero(computeType(conv.getX().getType().getElementType()));
  SmallVector<Value> sums =
      forEachTaps(b, emitter, dims, kUnrolled,
                  SmallVector<Value>(tileOffsets(dims).size(), zero),
                  [&](const std::array<AffineIndex, 3> &firstTap,
                      const WindowOffset &taps, ArrayRef<Value> carried) {
                    return addTaps(firstTap, taps, carried);
                  });

  std::vector<TensorIndex> at;
  for (const AffineIndex &output : tileOutputs(dims, tile))
    at.push_back(TensorIndex::linear(shape, output));
  emitter.storeResults(at, sums);
  return kernel.finish({blocks, 1, 1}, std::to_string(dims[1].tile) + "x" +
                                           std::to_string(dims[2].tile) +
                                           " outputs a thread");
}

FailureOr<GeneratedKernel> generateDepthwise(FusedOp group, const Chip &chip) {
  return DepthwiseGenerator(group, cast<ConvOp>(group.getAnchor()), chip)
      .generate();
}

} // namespace pascaline
