// GroupContraction - see GroupContraction.h.

#include "compiler/kernels/contraction/GroupContraction.h"

#include "compiler/ir/Constants.h"
#include "compiler/ir/Layout.h"
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
  AffineIndex m = indexOf(output.m, c.alongM ? width : 1);
  AffineIndex n = indexOf(output.n, c.alongM ? 1 : width);
  auto type = cast<RankedTensorType>(
      FusedOp(g.group).getAnchor()->getResult(0).getType());
  std::vector<TensorIndex> at;
  for (int64_t i = 0; i < width; ++i) {
    AffineIndex next(i), none(0);
    at.push_back(TensorIndex::linear(
        type.getShape(), g.row(batch, m + (c.alongM ? next : none)) + n +
                             (c.alongM ? none : next)));
  }
  emitter.storeResults(at, output.sums);
}

/// The dimension of the anchor's result whose neighbours are neighbours in the
/// memory of the group's first result; nothing where a reshape mixes them.
static std::optional<int64_t> innermostDim(FusedOp group) {
  Operation *anchor = group.getAnchor();
  llvm::DenseSet<Value> after = {anchor->getResult(0)};
  for (Operation *op = anchor->getNextNode(); op; op = op->getNextNode())
    if (llvm::any_of(op->getOperands(),
                     [&](Value operand) { return after.contains(operand); }))
      after.insert(op->result_begin(), op->result_end());
  Value value = group.getYield().getValues().front();
  int64_t dim =
      memoryLayout(cast<RankedTensorType>(value.getType())).axes.back().dim;
  while (value != anchor->getResult(0)) {
    Operation *op = value.getDefiningOp();
    if (!op || isa<ReshapeOp, SliceOp, BroadcastOp>(op))
      return std::nullopt;
    if (auto transpose = dyn_cast<TransposeOp>(op))
      dim = transpose.getPerm()[dim];
    auto next = llvm::find_if(op->getOperands(), [&](Value operand) {
      return after.contains(operand) &&
             cast<RankedTensorType>(operand.getType()).getRank() ==
                 cast<RankedTensorType>(value.getType()).getRank();
    });
    if (next == op->operand_end())
      return std::nullopt;
    value = *next;
  }
  return dim;
}

/// Which sides are constants to be laid out anew.
struct Packs {
  bool a, b;
};

static Packs packsOf(const GroupContraction &g) {
  bool a = canPack(g.group, g.a);
  return {a, !a && canPack(g.group, g.b)};
}

static Contraction configure(const GroupContraction &g, Packs packs,
                             const Chip &chip) {
  bool alongM = g.m % 4 == 0 && innermostDim(g.group) == g.rowDim;
  return chooseConfiguration(
      [&](const Tile &tile) {
        Contraction candidate;
        candidate.batch = g.batch;
        candidate.m = g.m;
        candidate.n = g.n;
        candidate.k = g.k;
        candidate.tile = tile;
        candidate.alongM = alongM;
        candidate.a = operandFor(g.a, packs.a, tile.bm, tile.bk);
        candidate.b = operandFor(g.b, packs.b, tile.bn, tile.bk);
        simplify(candidate.a);
        simplify(candidate.b);
        return candidate;
      },
      chip);
}

std::optional<double> estimateContraction(const GroupContraction &g,
                                          const Chip &chip) {
  if (planGemv(g, chip))
    return std::nullopt;
  Contraction c = configure(g, packsOf(g), chip);
  if (checkContraction(c))
    return std::nullopt;
  return estimateCycles(c, chip);
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
  Packs packs = packsOf(g);
  Contraction c = configure(g, packs, chip);
  if (auto problem = checkContraction(c))
    return group.emitError() << *problem;

  GroupKernel kernel(group, c.tile.threads(),
                     {c.tile.minBlocks, c.workspaceBytes(), c.counterWords()});
  if (packs.a)
    kernel.setPacking(g.a.view.operand, packingFor(g.a, c.tile.bm, c.tile.bk));
  if (packs.b)
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
