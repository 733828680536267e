// Counting.h - runs the warps of a block in lockstep and counts what they do.
//
// Code translated for counting (Counters.h says how) stops before each block
// of PTX. The lanes of a warp that stand before the same block, with the same
// calls open, are a group; the group before the lowest block goes on. When its
// last lane has stopped again or exited, the block it has executed is counted
// and its slots are evaluated.
//
// A group whose lanes wait for others (a barrier that only a part of the warp
// reaches) stalls: when nothing else in the block can go on, the warp's other
// lanes do. Hardware before Volta defines nothing there.
//
// Counts are sums over the warps, so neither the number of workers nor the
// order of blocks changes them.
//
// Threads: a Counting belongs to one worker. LaunchCounts are added to under
// the scheduler's lock.
// Tests: test/emulator/Counter*Test.cpp.
#pragma once

#include "runtime/emulator/Kernel.h"
#include "runtime/emulator/scheduler/WarpAccess.h"

#include <memory>
#include <vector>

namespace pascaline::emulator {

class BlockRunner;
struct BlockThread;
struct Launch;

struct AccessCounts {
  uint64_t requests = 0; // of a warp
  uint64_t bytes = 0;    // that lanes asked for
  uint64_t units = 0;    // sectors, wavefronts or words
};

// One launch's counts, before they are given names (CounterTable.h).
struct LaunchCounts {
  struct Block {
    uint64_t executions = 0; // by a warp
    uint64_t lanes = 0;      // active in these
    uint64_t partial = 0;    // executions by fewer lanes than the warp has
    uint64_t diverged = 0;   // executions after which lanes parted
  };
  std::vector<Block> blocks;   // as CountPlan::blocks
  std::vector<uint64_t> slots; // lanes whose guard was on
  AccessCounts accesses[4][3]; // by CountedSpace and CountedAccess
  uint64_t barriers = 0;       // completed, by a block

  void reset(const CountPlan &plan);
  void add(const LaunchCounts &other);
};

class Counting {
public:
  explicit Counting(BlockRunner &runner);

  void prepare(const Launch &launch, unsigned threads);
  void startBlock();

  uint64_t *enter(BlockThread *thread, bool called);
  // The thread must then wait for its turn.
  void arrive(BlockThread *thread, uint32_t block);
  void returns(BlockThread *thread);
  void exits(BlockThread *thread);

  // Lanes that execute the same instruction as this thread.
  uint32_t activeLanes(const BlockThread *thread) const;
  void barrierDone() { ++counts.barriers; }
  // They waited, and go on.
  void released(const BlockThread *first);
  // Lets lanes go on whose warp's active ones all wait; false: there are none.
  bool releaseStalled();

  const LaunchCounts &result() const { return counts; }

private:
  struct Warp {
    uint32_t lanes;   // that the block has
    uint32_t active;  // the group that executes `block`, before it is counted
    uint32_t running; // lanes that have not come to their next block
    uint32_t stopped; // lanes before a block
    uint32_t stalled; // lanes that wait in a group that was given up
    uint32_t calling; // lanes with calls open
    uint32_t block;
    uint32_t before[kWarpLanes]; // a block, of stopped lanes
    // Blocks that end in the calls that are open, the outermost first.
    std::vector<uint32_t> calls[kWarpLanes];
    alignas(64) uint64_t slots[kMaxSlots][kWarpLanes];
  };
  Warp &warpOf(const BlockThread *thread) const;
  bool isBefore(const Warp &warp, uint32_t lane, uint32_t other) const;
  uint32_t firstGroup(const Warp &warp) const;
  void goOn(Warp &warp);
  void count(Warp &warp);
  void countSlot(Warp &warp, const CountedSlot &slot, uint32_t index);
  void countAccess(const Warp &warp, const CountedSlot &slot,
                   CountedSpace space, const WarpAccess &access);

  BlockRunner &runner;
  const CountPlan *plan = nullptr;
  unsigned warpCount = 0;
  uint64_t sharedBase = 0;
  uint64_t localBase = 0; // of the block's first thread
  std::unique_ptr<Warp[]> warps;
  LaunchCounts counts;
};

} // namespace pascaline::emulator
