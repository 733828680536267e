// Collective.cpp - what the lanes of a warp do together: shuffles and votes.
//
// The lanes that execute one such instruction form a group. The last lane to
// come computes every lane's result from what they left in their BlockThread:
// a result handed over like this cannot be overwritten by a fast lane that is
// already at its next shuffle. The meaning of each is that of the PTX ISA's
// pseudo code ("shfl.sync", "vote.sync").
#include "runtime/emulator/scheduler/Block.h"

#include <cstdio>

namespace pascaline::emulator {
namespace {

// One lane's shuffle: the low half is the value, bit 32 the predicate.
uint64_t shuffle(const BlockThread *lanes, uint32_t arrived, uint32_t mode,
                 uint32_t lane) {
  const BlockThread &self = lanes[lane];
  int segment = self.clampAndMask >> 8 & 31;
  int clamp = self.clampAndMask & 31;
  int b = self.lane & 31;
  int minLane = int(lane) & segment;
  int maxLane = minLane | (clamp & ~segment);
  int source = 0;
  bool inside = false;
  switch (mode) {
  case 0: // up; here operand c bounds from below
    source = int(lane) - b;
    inside = source >= maxLane;
    break;
  case 1: // down
    source = int(lane) + b;
    inside = source <= maxLane;
    break;
  case 2: // bfly
    source = int(lane) ^ b;
    inside = source <= maxLane;
    break;
  default: // idx
    source = minLane | (b & ~segment);
    inside = source <= maxLane;
  }
  if (!inside)
    return self.value;
  // An inactive source lane is undefined in PTX; 0 makes runs repeatable.
  uint32_t value = arrived >> source & 1 ? lanes[source].value : 0;
  return uint64_t(1) << 32 | value;
}

// The same for every lane of the group.
uint32_t vote(const BlockThread *lanes, uint32_t arrived, uint32_t op) {
  uint32_t ballot = 0;
  for (uint32_t left = arrived; left; left &= left - 1) {
    unsigned lane = __builtin_ctz(left);
    ballot |= uint32_t(lanes[lane].value != 0) << lane;
  }
  switch (op) {
  case 0:
    return ballot == arrived;
  case 1:
    return ballot != 0;
  case 2:
    return ballot == 0 || ballot == arrived;
  default:
    return ballot;
  }
}

} // namespace

uint64_t BlockRunner::collect(BlockThread *thread, Collective kind, uint32_t op,
                              uint32_t mask) {
  Warp &warp = warps[thread->state.warpId];
  uint32_t lane = thread->state.laneId;
  uint32_t line = op & kWithoutSync ? thread->state.line : 0;
  if (counting && op & kWithoutSync)
    mask = counting->activeLanes(thread);
  if (!(mask >> lane & 1)) {
    char text[112];
    std::snprintf(text, sizeof text,
                  "line %u: a shuffle, vote or warp barrier whose mask 0x%x "
                  "leaves out its own lane %u",
                  thread->state.line, mask, lane);
    explain(thread, text);
    leave();
  }
  mask &= warp.lanes;

  Group *group = nullptr;
  for (uint32_t left = warp.active; left && !group; left &= left - 1) {
    Group &other = warp.groups[__builtin_ctz(left)];
    if (other.mask == mask && other.kind == kind && other.op == op &&
        other.line == line && !(other.arrived >> lane & 1))
      group = &other;
  }
  if (!group) {
    // A lane waits in one group at most, so one of 32 is free.
    unsigned index = __builtin_ctz(~warp.active);
    warp.active |= 1u << index;
    group = &warp.groups[index];
    *group = {op, mask, 0, line, kind};
  }
  group->arrived |= 1u << lane;
  unsigned index = group - warp.groups;
  if (!(mask & ~warp.exited & ~group->arrived)) {
    finishGroup(warp, index, thread);
  } else {
    waitForTurn(thread);
  }
  return thread->result;
}

void BlockRunner::finishGroup(Warp &warp, unsigned index, BlockThread *self) {
  const Group &group = warp.groups[index];
  BlockThread *lanes = &threads[(&warp - warps.get()) * 32];
  uint32_t op = group.op & ~kWithoutSync;
  uint32_t same =
      group.kind == Collective::Vote ? vote(lanes, group.arrived, op) : 0;
  if (sanitizing)
    sanitizing->warpSync(&warp - warps.get(), group.arrived);
  BlockThread *first = nullptr, *last = nullptr;
  for (uint32_t left = group.arrived; left; left &= left - 1) {
    unsigned lane = __builtin_ctz(left);
    BlockThread *thread = &lanes[lane];
    thread->result = group.kind == Collective::Shuffle
                         ? shuffle(lanes, group.arrived, op, lane)
                         : same;
    if (thread == self)
      continue;
    if (last)
      last->next = thread;
    else
      first = thread;
    last = thread;
  }
  if (first) {
    makeReady(first, last);
    if (counting)
      counting->released(first);
  }
  warp.active &= ~(1u << index);
}

// The block is stuck. Lanes of a form without .sync that came together are
// what hardware would have executed together; the lowest line first, because
// that one comes before the paths meet again.
bool BlockRunner::releaseDiverged() {
  Warp *warp = nullptr;
  unsigned lowest = 0;
  for (unsigned w = 0; w * 32 < threadCount; ++w)
    for (uint32_t left = warps[w].active; left; left &= left - 1) {
      unsigned index = __builtin_ctz(left);
      const Group &group = warps[w].groups[index];
      if (group.op & kWithoutSync &&
          (!warp || group.line < warp->groups[lowest].line)) {
        warp = &warps[w];
        lowest = index;
      }
    }
  if (warp)
    finishGroup(*warp, lowest, nullptr);
  return warp || (counting && counting->releaseStalled());
}

extern "C" {

uint64_t pascalineEmulatorShuffle(ThreadState *state, uint32_t mode,
                                  uint32_t value, uint32_t lane,
                                  uint32_t clampAndMask, uint32_t mask) {
  BlockThread *thread = BlockThread::of(state);
  thread->value = value;
  thread->lane = lane;
  thread->clampAndMask = clampAndMask;
  return thread->runner()->collect(thread, BlockRunner::Collective::Shuffle,
                                   mode, mask);
}

uint32_t pascalineEmulatorVote(ThreadState *state, uint32_t op,
                               uint32_t predicate, uint32_t mask) {
  BlockThread *thread = BlockThread::of(state);
  thread->value = predicate;
  return thread->runner()->collect(thread, BlockRunner::Collective::Vote, op,
                                   mask);
}

void pascalineEmulatorWarpSync(ThreadState *state, uint32_t mask) {
  BlockThread *thread = BlockThread::of(state);
  thread->runner()->collect(thread, BlockRunner::Collective::Sync, 0, mask);
}

} // extern "C"

} // namespace pascaline::emulator
