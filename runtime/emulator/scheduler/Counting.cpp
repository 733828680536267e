#include "runtime/emulator/scheduler/Counting.h"
#include "runtime/emulator/scheduler/Block.h"

#include <algorithm>

namespace pascaline::emulator {
namespace {
// Generic addresses up to here from its base are in shared memory.
constexpr uint64_t kSharedReach = uint64_t(1) << 32;
} // namespace

void LaunchCounts::reset(const CountPlan &plan) {
  *this = {};
  blocks.resize(plan.blocks.size());
  slots.resize(plan.slots.size());
}

void LaunchCounts::add(const LaunchCounts &other) {
  for (size_t i = 0; i < blocks.size(); ++i) {
    blocks[i].executions += other.blocks[i].executions;
    blocks[i].lanes += other.blocks[i].lanes;
    blocks[i].partial += other.blocks[i].partial;
    blocks[i].diverged += other.blocks[i].diverged;
  }
  for (size_t i = 0; i < slots.size(); ++i)
    slots[i] += other.slots[i];
  for (size_t space = 0; space < std::size(accesses); ++space)
    for (size_t kind = 0; kind < std::size(accesses[0]); ++kind) {
      AccessCounts &sum = accesses[space][kind];
      const AccessCounts &more = other.accesses[space][kind];
      sum.requests += more.requests;
      sum.bytes += more.bytes;
      sum.units += more.units;
    }
  barriers += other.barriers;
}

Counting::Counting(BlockRunner &runner)
    : runner(runner), warps(new Warp[kMaxThreadsPerBlock / kWarpLanes]) {}

void Counting::prepare(const Launch &launch, unsigned threads) {
  plan = launch.kernel->counted.get();
  counts.reset(*plan);
  warpCount = (threads + kWarpLanes - 1) / kWarpLanes;
  for (unsigned w = 0; w < warpCount; ++w) {
    unsigned lanes = std::min(threads - w * kWarpLanes, kWarpLanes);
    warps[w].lanes = uint32_t((uint64_t(1) << lanes) - 1);
  }
  const ThreadState &first = runner.thread(0)->state;
  sharedBase = first.sharedBase;
  localBase = first.localBase;
}

void Counting::startBlock() {
  for (unsigned w = 0; w < warpCount; ++w) {
    Warp &warp = warps[w];
    // Without an entry all lanes come to the first block by arrive().
    warp.active = plan->entry == CountPlan::kNoBlock ? 0 : warp.lanes;
    warp.block = plan->entry;
    warp.running = warp.lanes;
    warp.stopped = warp.stalled = warp.calling = 0;
    for (auto &calls : warp.calls)
      calls.clear();
  }
}

Counting::Warp &Counting::warpOf(const BlockThread *thread) const {
  return warps[thread->state.warpId];
}

uint64_t *Counting::enter(BlockThread *thread, bool called) {
  Warp &warp = warpOf(thread);
  uint32_t lane = thread->state.laneId;
  if (called) {
    FaultGuard guard(runner); // of the allocation
    warp.calls[lane].push_back(warp.block);
    warp.calling |= 1u << lane;
  }
  return &warp.slots[0][lane];
}

void Counting::returns(BlockThread *thread) {
  Warp &warp = warpOf(thread);
  uint32_t lane = thread->state.laneId;
  warp.calls[lane].pop_back();
  if (warp.calls[lane].empty())
    warp.calling &= ~(1u << lane);
}

void Counting::arrive(BlockThread *thread, uint32_t block) {
  Warp &warp = warpOf(thread);
  uint32_t lane = thread->state.laneId;
  warp.before[lane] = block;
  warp.stopped |= 1u << lane;
  warp.running &= ~(1u << lane);
  if (!warp.running)
    goOn(warp);
}

void Counting::exits(BlockThread *thread) {
  Warp &warp = warpOf(thread);
  warp.running &= ~(1u << thread->state.laneId);
  if (!warp.running)
    goOn(warp);
}

uint32_t Counting::activeLanes(const BlockThread *thread) const {
  return warpOf(thread).active;
}

void Counting::released(const BlockThread *first) {
  for (const BlockThread *thread = first; thread; thread = thread->next) {
    Warp &warp = warpOf(thread);
    uint32_t bit = 1u << thread->state.laneId;
    warp.running |= warp.stalled & bit;
    warp.stalled &= ~bit;
  }
}

bool Counting::releaseStalled() {
  bool any = false;
  for (unsigned w = 0; w < warpCount; ++w) {
    Warp &warp = warps[w];
    if (!warp.stopped)
      continue;
    warp.stalled |= warp.running;
    warp.running = 0;
    goOn(warp);
    any = true;
  }
  return any;
}

// Where each lane is: its open calls, then its block.
bool Counting::isBefore(const Warp &warp, uint32_t lane, uint32_t other) const {
  auto place = [&](uint32_t of, size_t depth) -> uint32_t {
    const auto &calls = warp.calls[of];
    return depth < calls.size() ? calls[depth] : warp.before[of];
  };
  size_t depth = std::max(warp.calls[lane].size(), warp.calls[other].size());
  for (size_t i = 0; i < depth; ++i) {
    uint32_t mine = place(lane, i), others = place(other, i);
    if (mine != others)
      return mine < others;
    // At the call, and in it.
    bool ends = i == warp.calls[lane].size();
    if (ends != (i == warp.calls[other].size()))
      return ends;
  }
  return warp.before[lane] < warp.before[other];
}

uint32_t Counting::firstGroup(const Warp &warp) const {
  uint32_t first = ~0u, group = 0;
  if (!(warp.calling & warp.stopped)) {
    for (uint32_t left = warp.stopped; left; left &= left - 1)
      first = std::min(first, warp.before[__builtin_ctz(left)]);
    for (uint32_t left = warp.stopped; left; left &= left - 1)
      group |= warp.before[__builtin_ctz(left)] == first ? left & -left : 0;
    return group;
  }
  for (uint32_t left = warp.stopped; left; left &= left - 1) {
    uint32_t lane = __builtin_ctz(left);
    if (!group || isBefore(warp, lane, first)) {
      first = lane;
      group = 1u << lane;
    } else if (!isBefore(warp, first, lane)) {
      group |= 1u << lane;
    }
  }
  return group;
}

// All lanes of the group have ended their block.
void Counting::goOn(Warp &warp) {
  if (warp.active)
    count(warp);
  uint32_t group = firstGroup(warp);
  warp.active = warp.running = group;
  if (!group)
    return;
  warp.stopped &= ~group;
  warp.block = warp.before[__builtin_ctz(group)];
  runner.makeReady(unsigned(&warp - warps.get()), group);
}

void Counting::count(Warp &warp) {
  const CountedBlock &block = plan->blocks[warp.block];
  LaunchCounts::Block &sum = counts.blocks[warp.block];
  ++sum.executions;
  sum.lanes += __builtin_popcount(warp.active);
  sum.partial += warp.active != warp.lanes;
  if (block.branches) {
    // A branch to the function's end leads to no block.
    uint32_t stopped = warp.active & warp.stopped;
    bool parted = stopped && stopped != warp.active;
    for (uint32_t left = stopped; left; left &= left - 1)
      parted |= warp.before[__builtin_ctz(left)] !=
                warp.before[__builtin_ctz(stopped)];
    sum.diverged += parted;
  }
  for (uint32_t i = 0; i < block.slotCount; ++i)
    countSlot(warp, plan->slots[block.firstSlot + i], i);
}

void Counting::countSlot(Warp &warp, const CountedSlot &slot, uint32_t index) {
  const uint64_t *values = warp.slots[index];
  uint32_t mask = warp.active;
  if (slot.guarded) {
    uint32_t on = 0;
    for (uint32_t lane = 0; lane < kWarpLanes; ++lane)
      on |= uint32_t(slot.accesses ? values[lane] != kNotAccessed
                                   : values[lane] == 1)
            << lane;
    mask &= on;
  }
  counts.slots[plan->blocks[warp.block].firstSlot + index] +=
      __builtin_popcount(mask);
  if (!slot.accesses || !mask)
    return;
  WarpAccess access{values, mask, slot.bytes};
  if (slot.space != CountedSpace::Generic)
    return countAccess(warp, slot, slot.space, access);
  // Each lane's space shows in its address.
  uint32_t shared = 0, local = 0;
  uint64_t locals = uint64_t(kLocalWindowBytes) * kMaxThreadsPerBlock;
  for (uint32_t lane = 0; lane < kWarpLanes; ++lane) {
    shared |= uint32_t(values[lane] - sharedBase < kSharedReach) << lane;
    local |= uint32_t(values[lane] - localBase < locals) << lane;
  }
  struct {
    CountedSpace space;
    uint32_t lanes;
  } parts[] = {{CountedSpace::Global, mask & ~shared & ~local},
               {CountedSpace::Shared, mask & shared},
               {CountedSpace::Local, mask & local & ~shared}};
  for (auto &part : parts)
    if (part.lanes)
      countAccess(warp, slot, part.space, {values, part.lanes, slot.bytes});
}

void Counting::countAccess(const Warp &warp, const CountedSlot &slot,
                           CountedSpace space, const WarpAccess &access) {
  AccessCounts &sum = counts.accesses[size_t(space)][size_t(slot.access)];
  ++sum.requests;
  sum.bytes += uint64_t(__builtin_popcount(access.mask)) * access.bytes;
  switch (space) {
  case CountedSpace::Shared:
    // The window is aligned to pages: host addresses have the same banks.
    sum.units += sharedWavefronts(access, slot.access == CountedAccess::Atomic);
    break;
  case CountedSpace::Local: {
    uint64_t offsets[kWarpLanes];
    uint64_t first =
        localBase + (&warp - warps.get()) * kWarpLanes * kLocalWindowBytes;
    for (uint32_t lane = 0; lane < kWarpLanes; ++lane)
      offsets[lane] = access.addresses[lane] - first - lane * kLocalWindowBytes;
    sum.units += localSectors({offsets, access.mask, access.bytes});
    break;
  }
  case CountedSpace::Const:
    sum.units += constantWords(access);
    break;
  default:
    sum.units += globalSectors(access);
  }
}

void BlockRunner::makeReady(unsigned warp, uint32_t lanes) {
  BlockThread *base = &threads[warp * kWarpLanes];
  BlockThread *first = &base[__builtin_ctz(lanes)], *last = first;
  for (uint32_t left = lanes & (lanes - 1); left; left &= left - 1) {
    last->next = &base[__builtin_ctz(left)];
    last = last->next;
  }
  makeReady(first, last);
}

void BlockRunner::countBlock(BlockThread *thread, uint32_t block) {
  counting->arrive(thread, block);
  waitForTurn(thread);
}

extern "C" {

uint64_t *pascalineEmulatorCountEnter(ThreadState *state, uint32_t called) {
  BlockThread *thread = BlockThread::of(state);
  return thread->runner()->counter()->enter(thread, called);
}

void pascalineEmulatorCountBlock(ThreadState *state, uint32_t block) {
  BlockThread *thread = BlockThread::of(state);
  thread->runner()->countBlock(thread, block);
}

void pascalineEmulatorCountReturn(ThreadState *state) {
  BlockThread *thread = BlockThread::of(state);
  thread->runner()->counter()->returns(thread);
}

void pascalineEmulatorCountExit(ThreadState *state) {
  BlockThread *thread = BlockThread::of(state);
  thread->runner()->counter()->exits(thread);
}

} // extern "C"

} // namespace pascaline::emulator
