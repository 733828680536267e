// ArenaPlanner.h - places buffers with lifetimes in one arena.
//
// Greedy: one buffer after the other, each at the lowest offset where no buffer
// that lives at the same time lies. Largest first is the usual order (Pisarchyk
// and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020,
// section 5.2); largest area, longest life and first use first are tried as
// well, then a bounded local search over the order from the best of them, and
// the smallest arena is taken. There is no guarantee, but networks'
// arenas come out at or near the lower bound, the largest sum of live bytes
// over the steps, which is returned beside it so that the distance is seen.
//
// Test: test/compiler/ArenaPlannerTest.cpp
#pragma once

#include <cstdint>
#include <vector>

namespace pascaline {

/// A buffer live from step `first` to step `last`, both included.
struct ArenaBuffer {
  int64_t bytes = 0;
  int64_t first = 0;
  int64_t last = 0;
  int64_t offset = 0; ///< result
};

struct ArenaPlan {
  int64_t bytes = 0; ///< of the arena
  int64_t lowerBound =
      0; ///< largest sum of live bytes, sizes rounded up to the alignment
};

/// Sets the offsets, all multiples of `alignment`.
ArenaPlan planArena(std::vector<ArenaBuffer> &buffers, int64_t alignment);

} // namespace pascaline
