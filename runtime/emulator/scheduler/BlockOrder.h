// BlockOrder.h - which accesses of a block's other threads a thread is ordered
// after: a vector clock, made light.
//
// The threads of a block take turns on one worker, so one counter, `tick`, is
// everybody's clock; it advances at everything that orders. known(b, a) is the
// last tick up to which thread b is ordered after thread a.
//
//   - A barrier of the whole block orders everything before it: `epoch` is the
//     tick of the last one, and no row is touched.
//   - Shuffles, votes and bar.warp.sync join the rows of their lanes; only the
//     warp's own columns, until something orders threads across warps.
//   - Barriers that name a count, and atomics on shared memory behind a fence,
//     join whole rows (`wide` from then on).
//
// Ticks run on from block to block, so rows of an earlier block mean nothing
// and need no clearing. Threads: belongs to one worker.
// Test: test/emulator/SanitizerSharedTest.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace pascaline::emulator {

class BlockOrder {
public:
  // True when the clock was set back: all earlier ticks are to be forgotten.
  bool prepare(unsigned threads);
  void startBlock();

  uint32_t now() const { return tick; } // below 2^31
  const uint32_t *clock() const { return &tick; }
  // Of the block's start: what has an earlier tick happened in another block.
  uint32_t start() const { return blockStart; }
  // The tick of the last barrier of the whole block, else start().
  uint32_t lastBarrier() const { return epoch; }
  bool isOrdered(uint32_t thread, uint32_t earlier, uint32_t at) const {
    return at < epoch || thread == earlier ||
           known[size_t(thread) * threads + earlier] >= at;
  }

  void blockBarrier() { epoch = ++tick; }
  // The lanes in `lanes` of a warp have met.
  void warpSync(uint32_t warp, uint32_t lanes);
  // A barrier with a count: who comes, whether it waits, and its completion.
  void arrive(uint32_t thread, uint32_t id, bool waits);
  void complete(uint32_t id);
  void fence(uint32_t thread) { fenced[thread] = tick++; }
  // An atomic access to shared memory.
  void meet(uint32_t thread, uint64_t address);

private:
  uint32_t *row(uint32_t thread) { return &known[size_t(thread) * threads]; }
  void join(std::vector<uint32_t> &into, uint32_t thread, uint32_t upTo);
  void learn(uint32_t thread, const std::vector<uint32_t> &from);

  unsigned threads = 0;
  uint32_t tick = 1, blockStart = 1, epoch = 1;
  bool wide = false;
  std::vector<uint32_t> known;  // threads x threads
  std::vector<uint32_t> fenced; // the tick of a thread's last fence
  struct Barrier {
    std::vector<uint32_t> clock;
    std::vector<uint32_t> waiting;
  };
  Barrier barriers[16];
  std::unordered_map<uint64_t, std::vector<uint32_t>> met;
};

} // namespace pascaline::emulator
