// Barrier.cpp - bar.sync, bar.arrive and bar.red; the rules are in Block.h.
#include "runtime/emulator/scheduler/Block.h"

namespace pascaline::emulator {

void BlockRunner::misuse(BlockThread *thread, uint32_t id, uint32_t count) {
  { // leave() does not unwind.
    std::string barrier = "line " + std::to_string(thread->state.line) +
                          ": barrier " + std::to_string(id);
    std::string threads = " for " + std::to_string(count) + " threads";
    if (id >= 16)
      explain(thread, barrier + " is not in 0..15");
    else if (count % 32)
      explain(thread, barrier + threads + ", which is no multiple of 32");
    else
      explain(thread, barrier + threads + ", where others wait for " +
                          std::to_string(barriers[id].count) +
                          " (0: the block)");
  }
  leave();
}

inline BlockRunner::Barrier &BlockRunner::arrive(BlockThread *thread,
                                                 uint32_t id, uint32_t count) {
  if (id >= 16 || count % 32)
    misuse(thread, id, count);
  Barrier &barrier = barriers[id];
  if (!barrier.arrived) {
    barrier.count = count;
    barrier.truePredicates = barrier.predicates = 0;
    barriersInUse |= 1u << id;
  } else if (barrier.count != count) {
    misuse(thread, id, count);
  }
  barrier.arrived += weight(thread);
  return barrier;
}

bool BlockRunner::complete(const Barrier &barrier) const {
  return barrier.arrived >=
         (barrier.count ? barrier.count : totalWeight - exitedWeight);
}

uint32_t BlockRunner::reduced(const Barrier &barrier, uint32_t op) {
  if (op == 0)
    return barrier.truePredicates;
  if (op == 1)
    return barrier.truePredicates == barrier.predicates;
  return barrier.truePredicates != 0;
}

// Every waiter gets its result now: a fast thread may start the barrier anew
// before a slow one has run.
void BlockRunner::releaseBarrier(Barrier &barrier) {
  if (sanitizing)
    sanitizing->barrierDone(&barrier - barriers, barrier.count == 0);
  if (barrier.predicates)
    for (BlockThread *t = barrier.first; t; t = t->next)
      t->result = reduced(barrier, t->lane);
  if (barrier.first)
    makeReady(barrier.first, barrier.last);
  if (counting) {
    counting->barrierDone();
    counting->released(barrier.first);
  }
  barrier.first = barrier.last = nullptr;
  barrier.arrived = 0;
  barriersInUse &= ~(1u << (&barrier - barriers));
}

inline void BlockRunner::waitAt(Barrier &barrier, BlockThread *thread) {
  thread->next = nullptr;
  if (barrier.first)
    barrier.last->next = thread;
  else
    barrier.first = thread;
  barrier.last = thread;
  waitForTurn(thread);
}

inline void BlockRunner::barrier(BlockThread *thread, uint32_t id,
                                 uint32_t count) {
  Barrier &barrier = arrive(thread, id, count);
  if (complete(barrier))
    return releaseBarrier(barrier);
  waitAt(barrier, thread);
}

void BlockRunner::barrierArrive(BlockThread *thread, uint32_t id,
                                uint32_t count) {
  Barrier &barrier = arrive(thread, id, count);
  if (complete(barrier))
    releaseBarrier(barrier);
}

uint32_t BlockRunner::barrierReduce(BlockThread *thread, uint32_t id,
                                    uint32_t count, uint32_t op,
                                    uint32_t predicate) {
  thread->lane = op;
  Barrier &barrier = arrive(thread, id, count);
  ++barrier.predicates;
  barrier.truePredicates += predicate != 0;
  if (complete(barrier)) {
    uint32_t result = reduced(barrier, op);
    releaseBarrier(barrier);
    return result;
  }
  waitAt(barrier, thread);
  return thread->result;
}

extern "C" {

void pascalineEmulatorBarrier(ThreadState *state, uint32_t id, uint32_t count) {
  BlockThread *thread = BlockThread::of(state);
  thread->runner()->barrier(thread, id, count);
}

void pascalineEmulatorBarrierArrive(ThreadState *state, uint32_t id,
                                    uint32_t count) {
  BlockThread *thread = BlockThread::of(state);
  thread->runner()->barrierArrive(thread, id, count);
}

uint32_t pascalineEmulatorBarrierReduce(ThreadState *state, uint32_t id,
                                        uint32_t count, uint32_t op,
                                        uint32_t predicate) {
  BlockThread *thread = BlockThread::of(state);
  return thread->runner()->barrierReduce(thread, id, count, op, predicate);
}

} // extern "C"

} // namespace pascaline::emulator
