// Cost - see Cost.h.

#include "compiler/kernels/contraction/Cost.h"

#include "compiler/target/Chip.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>

namespace pascaline {

/// Instructions that a thread issues to stage one operand's tile.
static double stagingInstructions(const Operand &operand, int64_t tileX,
                                  const Tile &tile) {
  OperandPlan plan = planOperand(operand, tileX, tile.bk, tile.threads());
  double loads = plan.columnsPerThread * plan.rowsPerThread;
  double stores = loads * (plan.alongK > 1 ? plan.alongK : 1);
  double zeroing =
      plan.guard == OperandPlan::None ? 0 : loads * plan.alongX * plan.alongK;
  double entries =
      plan.walk == OperandPlan::Linear
          ? 2
          : plan.entriesPerThread() * (1 + 4 * plan.columnsPerThread);
  return loads + stores + zeroing + entries;
}

/// The share of issue slots left to multiply-adds; 0.96 stands for the bank
/// conflicts that remain less the instructions issued in pairs.
static double issueShare(const Contraction &c) {
  const Tile &t = c.tile;
  double math = t.tm * t.tn * t.bk;
  double reads = t.bk * (t.tm + t.tn) / 4;
  double staging =
      stagingInstructions(c.a, t.bm, t) + stagingInstructions(c.b, t.bn, t);
  constexpr double kLoop = 10;
  return 0.96 * math / (math + reads + staging + kLoop);
}

static int64_t residentBlocks(const Tile &tile) {
  // A thread's sums, two sets of fragments, staged elements and addresses.
  int64_t registers = tile.tm * tile.tn + 2 * (tile.tm + tile.tn) + 30;
  return std::min({Chip::kRegisters / (registers * tile.threads()),
                   Chip::kSharedBytesTotal / tile.sharedBytes(),
                   Chip::kMaxWarps * 32 / tile.threads(), Chip::kMaxBlocks});
}

double estimateCycles(const Contraction &c, const Chip &chip) {
  const Tile &t = c.tile;
  double bytesPerCycle = double(chip.bandwidthMBs) / chip.clockMhz;
  constexpr double kL2BytesPerCycle = 585, kStart = 1307;

  int64_t blocks = c.outputTiles() * c.slices;
  int64_t onBusiest = llvm::divideCeil(blocks, chip.multiprocessors);
  double depth = llvm::divideCeil(c.tilesK(), c.slices) * t.bk;
  double work = onBusiest * t.bm * t.bn * depth / Chip::kLanes;
  double warps = std::min(onBusiest, residentBlocks(t)) * t.threads() / 32;
  double issue = work / issueShare(c) * (1 + 3.75 / warps);

  double batch = c.batchCount(), k = c.k, output = batch * c.m * c.n * 4;
  auto sizeOf = [&](const Operand &operand, double x) {
    double copies = 1;
    for (auto [extent, stride] : llvm::zip(c.batch, operand.batchStrides))
      copies *= stride ? extent : 1;
    // A convolution's windows overlap: no more than its image is read.
    double size = x * k;
    for (const Bound &bound : operand.bounds)
      size /= operand.k[bound.kAxis].extent;
    return copies * size * storageBytes(operand.element);
  };
  double memory =
      (sizeOf(c.a, c.m) + sizeOf(c.b, c.n) + output) / bytesPerCycle;

  double slices = 0;
  if (c.slices > 1) {
    // Written by all, read back by a tile's last block alone.
    double tileBytes = t.bm * t.bn * 4;
    constexpr double kFence = 1500, kSmBytesPerCycle = 32;
    double tilesOnBusiest =
        llvm::divideCeil(c.outputTiles(), chip.multiprocessors);
    slices = kFence + blocks * tileBytes / kL2BytesPerCycle +
             tilesOnBusiest * c.slices * tileBytes / kSmBytesPerCycle;
  }
  return std::max(issue, memory) + output / kL2BytesPerCycle + kStart + slices;
}

Contraction
chooseConfiguration(llvm::function_ref<Contraction(const Tile &)> make,
                    const Chip &chip) {
  constexpr int64_t kMostSlices = 32;
  std::optional<Contraction> best;
  double bestCycles = std::numeric_limits<double>::infinity();
  for (const Tile &tile : allTiles()) {
    Contraction candidate = make(tile);
    if (!best)
      best = candidate;
    for (int64_t slices = 1;
         slices <= std::min(kMostSlices, candidate.tilesK()); ++slices) {
      candidate.slices = slices;
      // Partial sums that leave L2 cost more than slicing gains.
      if (candidate.workspaceBytes() > chip.l2Bytes * 2 / 3)
        break;
      double cycles = estimateCycles(candidate, chip);
      if (cycles < bestCycles && !checkContraction(candidate)) {
        best = candidate;
        bestCycles = cycles;
      }
    }
  }
  return *best;
}

} // namespace pascaline
