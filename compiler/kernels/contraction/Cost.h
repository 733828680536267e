// Cost - how long a contraction will take, and the tile and slices to use.
//
// cycles = max(issue with tiles, memory) + output + start + slices, where
//   issue   busiest SM's multiply-adds over its lanes, over the share of peak
//           that issue slots and shared memory allow, and longer by 3.75 /
//           warps on it
//   memory  bytes that must move over device memory's rate
//   tiles   bytes that all blocks read over L2's rate
//   output  bytes written over L2's rate
//   slices  partial sums written to and read back from L2, and the wait
// Issue, memory, output and start were fitted to 28 cycle-simulated kernels of
// batch-1 layers (7.7 % rms); the others are estimates.
//
// Test: test/compiler/TileTest.cpp
#pragma once

#include "compiler/kernels/contraction/Contraction.h"

namespace pascaline {

struct Chip;

/// What all SMs together read from or write to L2 in a cycle.
inline constexpr double kL2BytesPerCycle = 585;

double estimateCycles(const Contraction &contraction, const Chip &chip);

/// The cheapest of all tiles and numbers of slices. `make` gives the
/// contraction for a tile, with one slice.
Contraction
chooseConfiguration(llvm::function_ref<Contraction(const Tile &)> make,
                    const Chip &chip);

} // namespace pascaline
