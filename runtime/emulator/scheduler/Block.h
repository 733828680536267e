// Block.h - runs one block of a grid at a time, on one worker.
//
// A kernel that never waits is called in a loop, thread after thread. One that
// does (KernelInfo::switches) gets a fiber a thread:
//
//   - a fiber runs threads from the fresh ones until one of them waits; that
//     thread then keeps the fiber and its stack, and the next fresh thread
//     starts on another. So a block needs as many stacks as threads wait at
//     the same time, and threads that do not wait cost no switch;
//   - who waits goes to the first ready thread, else to a fresh one. Who
//     completes a barrier or a shuffle makes the others ready, in order, and
//     goes on itself;
//   - when nobody is ready or fresh and threads still wait, that is a
//     deadlock, and the launch fails with a sentence that says who waits where.
//
// What the waits mean, where the PTX ISA leaves a choice:
//   - barriers count in warps: the last lane of a partial warp counts for the
//     lanes that it lacks. Exited threads count as arrived where no count is
//     given. Threads that disagree about a count fail the launch;
//   - .sync forms wait for the lanes of the mask that have not exited. The
//   forms
//     without .sync wait for the whole warp too, but when the block is stuck
//     the lanes that came to the same PTX line are taken for the ones that took
//     the same branch, lowest line first;
//   - a lane that a shuffle reads and that takes no part yields 0.
//
// A kernel that counts (Counting.h) stops its threads at more places, and a
// shuffle without .sync knows which lanes take part.
//
// Barrier.cpp and Collective.cpp define the functions that generated code
// calls, beside what they do, so that the compiler makes one function of each.
// Threads: a runner belongs to one worker.
// Tests: test/emulator/SchedulerBlockTest.cpp, SchedulerFaultTest.cpp.
#pragma once

#include "runtime/emulator/Kernel.h"
#include "runtime/emulator/scheduler/Counting.h"
#include "runtime/emulator/scheduler/DeviceMemory.h"
#include "runtime/emulator/scheduler/Faults.h"
#include "runtime/emulator/scheduler/Fibers.h"
#include "runtime/emulator/scheduler/Sanitizer.h"

#include <cstddef>
#include <memory>
#include <string>

namespace pascaline::emulator {

enum class FailureKind {
  None,
  IllegalAddress,
  MisalignedAddress,
  IllegalInstruction,
  LaunchFailed, // deadlock, trap, misuse of a barrier or shuffle
  Timeout,      // stopped by Scheduler
  OutOfMemory,  // the host's, for stacks or windows
};

struct LaunchFailure {
  FailureKind kind = FailureKind::None;
  std::string message;
};

struct Launch {
  const KernelInfo *kernel = nullptr;
  const void *params = nullptr;
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t dynamicSharedBytes = 0;
  LaunchCounts *counts = nullptr; // of kernels that count: gets their sum
};

class BlockRunner;

// One thread of the block that runs now. What a barrier touches (`scheduler`,
// which is the runner, and `next`) shares a cache line.
struct alignas(64) BlockThread {
  ThreadState state;         // first: generated code is given its address
  BlockThread *next;         // among the ready, or at a barrier
  FiberContext context;      // while it waits
  uint64_t result = 0;       // of the wait that has ended
  uint32_t value = 0;        // given to the wait: value or predicate,
  uint32_t lane = 0;         //   a shuffle's operand b or a barrier's op,
  uint32_t clampAndMask = 0; //   and its operand c

  static BlockThread *of(ThreadState *state) {
    return reinterpret_cast<BlockThread *>(state);
  }
  BlockRunner *runner() const {
    return static_cast<BlockRunner *>(state.scheduler);
  }
};
static_assert(offsetof(BlockThread, state.scheduler) / 64 ==
              offsetof(BlockThread, next) / 64);

class BlockRunner {
public:
  explicit BlockRunner(unsigned worker);

  // Sets up for the blocks of one launch; false: see failure().
  bool prepare(const Launch &launch);
  // Runs block `index` (x fastest) to its end; false: see failure().
  bool run(uint64_t index);
  const LaunchFailure &failure() const { return lastFailure; }

  // What the hooks do. Each returns when `thread` may go on.
  void barrier(BlockThread *thread, uint32_t id, uint32_t count);
  void barrierArrive(BlockThread *thread, uint32_t id, uint32_t count);
  uint32_t barrierReduce(BlockThread *thread, uint32_t id, uint32_t count,
                         uint32_t op, uint32_t predicate);
  // All lanes of `mask` that give the same key; results by `kind`.
  enum class Collective : uint8_t { Shuffle, Vote, Sync };
  uint64_t collect(BlockThread *thread, Collective kind, uint32_t op,
                   uint32_t mask);
  // Ends the block; `what` is a literal: "executed trap".
  [[noreturn]] void stop(BlockThread *thread, uint32_t line, const char *what);

  // Null unless the kernel counts.
  Counting *counter() { return counting.get(); }
  void countBlock(BlockThread *thread, uint32_t block);
  BlockThread *thread(unsigned number) { return &threads[number]; }
  // These lanes go on after all that are ready, in order.
  void makeReady(unsigned warp, uint32_t lanes);

  // Null unless the kernel is sanitized. Its findings end the block.
  Sanitizer *sanitizer() { return sanitizing.get(); }
  // What is wrong with an access; `what` is a literal. `bytes`: what a memory
  // has that the offset lies outside of.
  [[noreturn]] void report(BlockThread *thread, FailureKind kind,
                           const Access &access, const char *what,
                           uint64_t address, uint64_t bytes = kNoBytes);
  static constexpr uint64_t kNoBytes = ~uint64_t(0);
  // The other side's block is a number, or -1: this one, in shared memory.
  [[noreturn]] void reportRace(BlockThread *thread, const Access &access,
                               uint64_t address, uint32_t otherThread,
                               uint32_t otherLine, bool otherStored,
                               int64_t otherBlock);
  [[noreturn]] void reportBarrier(BlockThread *thread, uint32_t id,
                                  uint32_t line, uint32_t otherLine);

private:
  friend class FaultGuard;
  struct Barrier {
    uint32_t arrived = 0; // in threads; 0: nobody is here
    uint32_t count = 0;   // as given; 0: all of the block
    uint32_t truePredicates = 0;
    uint32_t predicates = 0;
    BlockThread *first = nullptr, *last = nullptr;
  };
  struct Group {
    uint32_t op;
    uint32_t mask;
    uint32_t arrived;
    uint32_t line; // 0 for .sync forms: the mask is enough
    Collective kind;
  };
  struct Warp {
    uint32_t lanes = 0;  // that the block has
    uint32_t exited = 0; // of those
    uint32_t active = 0; // groups in use
    Group groups[32];
  };
  void runAll();
  static void fiberMain(void *runner, void *stack);
  void fiberLoop(void *stack);
  void waitForTurn(BlockThread *thread);
  BlockThread *takeReady();
  void makeReady(BlockThread *first, BlockThread *last);
  void threadExited(BlockThread *thread);

  uint32_t weight(const BlockThread *thread) const {
    return thread == lastThread ? lastWeight : 1;
  }
  [[noreturn, gnu::cold]] void misuse(BlockThread *thread, uint32_t id,
                                      uint32_t count);
  Barrier &arrive(BlockThread *thread, uint32_t id, uint32_t count);
  bool complete(const Barrier &barrier) const;
  void releaseBarrier(Barrier &barrier);
  void waitAt(Barrier &barrier, BlockThread *thread);
  static uint32_t reduced(const Barrier &barrier, uint32_t op);

  void finishGroup(Warp &warp, unsigned group, BlockThread *self);
  bool releaseDiverged();

  std::string where(const BlockThread *thread) const;
  void explainFault();
  void explainDeadlock();
  void explain(const BlockThread *thread, std::string what);
  [[noreturn]] void deadlock();
  [[noreturn]] void leave();

  const unsigned worker;
  const Launch *launch = nullptr;
  LaunchFailure lastFailure;
  FaultFrame frame;

  FiberPool fibers;
  FiberContext mainContext = nullptr;
  FiberContext deadContext = nullptr; // of fibers that ended
  BlockThread *current = nullptr;     // for messages
  BlockThread *readyFirst = nullptr, *readyLast = nullptr;
  unsigned threadCount = 0;
  unsigned nextFresh = 0;
  unsigned alive = 0;
  uint32_t totalWeight = 0;
  uint32_t exitedWeight = 0;
  const BlockThread *lastThread = nullptr;
  uint32_t lastWeight = 1; // how many threads the last one counts for
  uint32_t barriersInUse = 0;
  bool dirty = false; // a block was abandoned half-way

  uint64_t sharedBytes = 0; // of a block
  uint64_t sharedCommitted = 0;
  bool localCommitted = false;

  std::unique_ptr<Sanitizer> sanitizing;
  std::unique_ptr<Counting> counting;
  std::unique_ptr<BlockThread[]> threads;
  std::unique_ptr<Warp[]> warps;
  Barrier barriers[16];
};

// While it lives no interrupt may leave the block: a lock is held.
class FaultGuard {
public:
  explicit FaultGuard(BlockRunner &runner) : runner(runner) {
    setFaultFrame(nullptr);
  }
  ~FaultGuard() { setFaultFrame(&runner.frame); }

private:
  BlockRunner &runner;
};

inline BlockThread *BlockRunner::takeReady() {
  BlockThread *thread = readyFirst;
  if (thread) {
    readyFirst = thread->next;
    // By the time it is this one's turn its stack is in the nearest cache.
    if (readyFirst) {
      __builtin_prefetch(readyFirst->context);
      __builtin_prefetch(static_cast<char *>(readyFirst->context) + 64);
    }
  }
  return thread;
}

inline void BlockRunner::makeReady(BlockThread *first, BlockThread *last) {
  last->next = nullptr;
  if (readyFirst)
    readyLast->next = first;
  else
    readyFirst = first;
  readyLast = last;
}

// Whoever switches to a thread has made it `current`.
inline void BlockRunner::waitForTurn(BlockThread *thread) {
  for (;;) {
    if (BlockThread *next = takeReady()) {
      if (next == thread)
        return;
      current = next;
      return switchFiber(&thread->context, next->context);
    }
    if (nextFresh < threadCount)
      return switchFiber(&thread->context, fibers.start(fiberMain, this));
    if (!releaseDiverged())
      deadlock();
  }
}

} // namespace pascaline::emulator
