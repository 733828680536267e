// Cost - see Cost.h.

#include "compiler/kernels/contraction/Cost.h"

#include "compiler/target/Chip.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pascaline {

namespace {
/// What a thread does to stage one operand's tile.
struct Staging {
  double instructions;
  double wavefronts; ///< of shared memory
  int64_t registers; ///< elements under way, and loop-carried state
};
} // namespace

static Staging stagingOf(const Operand &operand, int64_t tileX,
                         const Tile &tile) {
  OperandPlan plan = planOperand(operand, tileX, tile.bk, tile.threads());
  int64_t loads = plan.columnsPerThread * plan.rowsPerThread;
  int64_t elements = loads * plan.alongX * plan.alongK;
  int64_t stores = plan.alongK > 1 ? elements : loads;
  bool table = plan.walk != OperandPlan::Linear;
  int64_t entries = table ? plan.entriesPerThread() : 0;
  Staging staging;
  staging.instructions =
      loads + stores + (plan.guard == OperandPlan::None ? 0 : elements) +
      (table ? entries * (1 + 4 * plan.columnsPerThread) : 2);
  // A store of 128 bits a lane takes four, what comes scalar one.
  staging.wavefronts = elements;
  staging.registers = elements + 2 * plan.columnsPerThread +
                      (table ? 2 + plan.words * entries : 0) +
                      (plan.guard == OperandPlan::Mask ? 1 : 0);
  return staging;
}

/// A thread's sums, two sets of fragments, staged elements and addresses.
static int64_t registersOf(const Contraction &c) {
  constexpr int64_t kOther = 16;
  const Tile &t = c.tile;
  return t.tm * t.tn + 2 * (t.tm + t.tn) + stagingOf(c.a, t.bm, t).registers +
         stagingOf(c.b, t.bn, t).registers + kOther;
}

/// The share of peak that a busy SM reaches: what issue slots and shared memory
/// leave to multiply-adds.
static double peakShare(const Contraction &c) {
  const Tile &t = c.tile;
  Staging a = stagingOf(c.a, t.bm, t), b = stagingOf(c.b, t.bn, t);
  double math = t.tm * t.tn * t.bk;
  double reads = t.bk * (t.tm + t.tn) / 4;
  constexpr double kLoop = 10, kSchedulers = 4;
  double issue =
      (math + reads + a.instructions + b.instructions + kLoop) / kSchedulers;
  // Lanes share what they read, so a 128-bit read takes two wavefronts.
  double shared = 2 * reads + a.wavefronts + b.wavefronts;
  // The bank conflicts that remain, less the instructions issued in pairs, are
  // small; a register limit that binds costs many more.
  bool binds = t.minBlocks * t.threads() * registersOf(c) > Chip::kRegisters;
  return (binds ? 0.8 : 1) * math / kSchedulers / std::max(issue, shared);
}

double estimateCycles(const Contraction &c, const Chip &chip) {
  const Tile &t = c.tile;
  double bytesPerCycle = double(chip.bandwidthMBs) / chip.clockMhz;
  constexpr double kStart = 1307;

  int64_t blocks = c.outputTiles() * c.slices;
  int64_t onBusiest = llvm::divideCeil(blocks, chip.multiprocessors);
  double depth = llvm::divideCeil(c.tilesK(), c.slices) * t.bk;
  double work = onBusiest * t.bm * t.bn * depth / Chip::kLanes;
  double warps = onBusiest * t.threads() / 32;
  double issue = work / peakShare(c) * (1 + 3.75 / warps);

  double batch = c.batchCount(), k = c.k, output = batch * c.m * c.n * 4;
  auto sizeOf = [&](const Operand &operand, double x) {
    double copies = 1;
    for (auto [extent, stride] : llvm::zip(c.batch, operand.batchStrides))
      copies *= stride ? extent : 1;
    // A convolution's windows overlap: no more than its image is read.
    double reach = 1;
    for (const auto &axes : {operand.x, operand.k})
      for (Axis axis : axes)
        reach += std::abs(axis.stride) * (axis.extent - 1);
    return copies * std::min(x * k, reach) * storageBytes(operand.element);
  };
  double memory =
      (sizeOf(c.a, c.m) + sizeOf(c.b, c.n) + output) / bytesPerCycle;

  // Each block reads its operands' tiles through L2.
  int64_t rowBytes =
      t.bm * storageBytes(c.a.element) + t.bn * storageBytes(c.b.element);
  double tiles = blocks * rowBytes * depth / kL2BytesPerCycle;

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
  // Two limits of about the same height are worse than either.
  double busy = std::cbrt(issue * issue * issue + tiles * tiles * tiles);
  return std::max(busy, memory) + output / kL2BytesPerCycle + kStart + slices;
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
      // Half is stored to save memory: partial sums must not take it back.
      int64_t smaller = candidate.batchCount() * candidate.k *
                        std::min(candidate.m, candidate.n) * 2;
      bool isHalf = candidate.a.element.isF16() || candidate.b.element.isF16();
      if (isHalf && candidate.workspaceBytes() > smaller)
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
