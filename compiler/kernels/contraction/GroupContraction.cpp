// GroupContraction - see GroupContraction.h.

#include "compiler/kernels/contraction/GroupContraction.h"

#include "compiler/ir/Constants.h"
#include "compiler/ir/Types.h"
#include "compiler/kernels/Gemv.h"
#include "compiler/kernels/GroupKernel.h"
#include "compiler/kernels/contraction/Cost.h"

using namespace mlir;

namespace pascaline {

bool canPack(FusedOp group, const Side &side) {
  Value argument = group.getBody().front().getArgument(side.view.operand);
  return side.packing && argument.hasOneUse() &&
         constantValue(group.getInputs()[side.view.operand]);
}

/// The packing of a side whose tile has `tileX` columns.
static WeightPacking packingFor(const Side &side, int64_t tileX, int64_t bk) {
  WeightPacking packing = *side.packing;
  packing.channelsPadded = packing.channels;
  packing.mPadded = llvm::alignTo(packing.m, tileX);
  packing.kPadded = llvm::alignTo(packing.taps * packing.channels, bk);
  return packing;
}

static Operand operandFor(const Side &side, bool packed, int64_t tileX,
                          int64_t bk) {
  if (!packed)
    return side.operand;
  WeightPacking packing = packingFor(side, tileX, bk);
  Operand operand;
  operand.element = side.operand.element;
  operand.x = {{packing.mPadded, 1}};
  operand.k = {{packing.kPadded, packing.mPadded}};
  for (int64_t stride : side.packedBatch)
    operand.batchStrides.push_back(stride * packing.kPadded * packing.mPadded);
  return operand;
}

static void emitEpilogue(GroupKernel &kernel, const GroupContraction &g,
                         const Contraction &c, const OutputGroup &output) {
  ExpressionEmitter &emitter = kernel.emitter();
  IndexBuilder &indices = emitter.index();
  SmallVector<AffineIndex> batch;
  for (auto [coordinate, extent] : llvm::zip(output.batch, c.batch))
    batch.push_back(indices.variable(coordinate, extent));
  auto indexOf = [&](const Place &place, int64_t multiple) {
    return indices.variable(place.value, place.extent, multiple) +
           AffineIndex(place.plus);
  };
  int64_t width = output.sums.size();
  AffineIndex first =
      g.row(batch, indexOf(output.m, 1)) + indexOf(output.n, width);
  auto type = cast<RankedTensorType>(
      FusedOp(g.group).getAnchor()->getResult(0).getType());
  std::vector<TensorIndex> at;
  for (int64_t i = 0; i < width; ++i)
    at.push_back(TensorIndex::linear(type.getShape(), first + AffineIndex(i)));
  emitter.storeResults(at, output.sums);
}

FailureOr<GeneratedKernel> generateContraction(const GroupContraction &g,
                                               const Chip &chip) {
  FusedOp group = g.group;
  for (const Side *side : {&g.a, &g.b})
    if (Type type = side->operand.element; !type.isF32() && !type.isF16())
      return group.emitError()
             << "contractions are computed of f32 and f16, not of " << type;
  if (std::optional<Gemv> gemv = planGemv(g, chip))
    return generateGemv(g, *gemv);
  bool packA = canPack(group, g.a), packB = !packA && canPack(group, g.b);

  Contraction c = chooseConfiguration(
      [&](const Tile &tile) {
        Contraction candidate;
        candidate.batch = g.batch;
        candidate.m = g.m;
        candidate.n = g.n;
        candidate.k = g.k;
        candidate.tile = tile;
        candidate.a = operandFor(g.a, packA, tile.bm, tile.bk);
        candidate.b = operandFor(g.b, packB, tile.bn, tile.bk);
        simplify(candidate.a);
        simplify(candidate.b);
        return candidate;
      },
      chip);
  if (auto problem = checkContraction(c))
    return group.emitError() << *problem;

  GroupKernel kernel(group, c.tile.threads(),
                     {c.tile.minBlocks, c.workspaceBytes(), c.counterWords()});
  if (packA)
    kernel.setPacking(g.a.view.operand, packingFor(g.a, c.tile.bm, c.tile.bk));
  if (packB)
    kernel.setPacking(g.b.view.operand, packingFor(g.b, c.tile.bn, c.tile.bk));
  KernelBuilder &b = kernel.builder();
  ContractionPointers pointers = {kernel.input(g.a.view.operand),
                                  kernel.input(g.b.view.operand),
                                  kernel.workspace(), kernel.counters()};
  emitContraction(
      b, c, pointers, [&](KernelBuilder &b, const OutputGroup &output) {
        // Predicated stores rather than branches: all that the epilogue reads
        // can be under way at once.
        if (Value inside = output.inside)
          kernel.emitter().setStorer([&b, inside](Value value, Value pointer) {
            b.storeIf(inside, value, pointer);
          });
        emitEpilogue(kernel, g, c, output);
        kernel.emitter().setStorer(nullptr);
      });
  return kernel.finish(c.grid(), c.text());
}

} // namespace pascaline
