#undef _FORTIFY_SOURCE // see Faults.cpp
#include "runtime/emulator/scheduler/Block.h"

#include <cstring>
#include <sys/mman.h>

namespace pascaline::emulator {
namespace {

constexpr uint32_t kWarpSize = 32;
constexpr uint64_t kPage = 4096;
constexpr unsigned kSmCount = 28;

bool protect(uint64_t address, uint64_t bytes, int access) {
  return !bytes ||
         mprotect(reinterpret_cast<void *>(address), bytes, access) == 0;
}

} // namespace

BlockRunner::BlockRunner(unsigned worker)
    : worker(worker), threads(new BlockThread[kMaxThreadsPerBlock]),
      warps(new Warp[kMaxThreadsPerBlock / kWarpSize]) {}

bool BlockRunner::prepare(const Launch &newLaunch) {
  launch = &newLaunch;
  lastFailure = {};
  const KernelInfo &kernel = *launch->kernel;
  DeviceMemory &memory = DeviceMemory::get();

  // Only what the block may use is accessible, so overruns fault (by pages).
  sharedBytes = uint64_t(kernel.staticSharedBytes) + launch->dynamicSharedBytes;
  uint64_t shared = (sharedBytes + kPage - 1) / kPage * kPage;
  uint64_t window = memory.sharedWindow(worker);
  bool done =
      shared >= sharedCommitted
          ? protect(window + sharedCommitted, shared - sharedCommitted,
                    PROT_READ | PROT_WRITE)
          : protect(window + shared, sharedCommitted - shared, PROT_NONE);
  if (done)
    sharedCommitted = shared;
  if (done && kernel.localBytes && !localCommitted)
    done = localCommitted = protect(memory.localWindow(worker),
                                    kLocalWindowBytes * kMaxThreadsPerBlock,
                                    PROT_READ | PROT_WRITE);

  threadCount = launch->block[0] * launch->block[1] * launch->block[2];
  if (!kernel.sanitized) {
    sanitizing.reset();
  } else {
    if (!sanitizing)
      sanitizing = std::make_unique<Sanitizer>(*this);
    sanitizing->prepare(*launch, sharedBytes, threadCount);
  }
  if (done && kernel.switches)
    done = fibers.reserve(threadCount);
  if (!done) {
    lastFailure = {FailureKind::OutOfMemory,
                   "kernel " + kernel.name +
                       ": the host has no memory for the stacks of a block"};
    return false;
  }

  totalWeight = (threadCount + kWarpSize - 1) / kWarpSize * kWarpSize;
  lastThread = &threads[threadCount - 1];
  lastWeight = totalWeight - threadCount + 1;
  uint32_t tid[3] = {0, 0, 0};
  for (unsigned i = 0; i < threadCount; ++i) {
    BlockThread &thread = threads[i];
    ThreadState &state = thread.state;
    state = {};
    state.globalBase = memory.windowBase();
    state.sharedBase = window;
    state.localBase = memory.localWindow(worker) + i * kLocalWindowBytes;
    state.params = launch->params;
    for (int d = 0; d < 3; ++d) {
      state.tid[d] = tid[d];
      state.ntid[d] = launch->block[d];
      state.nctaid[d] = launch->grid[d];
    }
    state.laneId = i % kWarpSize;
    state.warpId = i / kWarpSize;
    state.dynamicSharedBytes = launch->dynamicSharedBytes;
    state.smId = worker % kSmCount;
    state.scheduler = this;
    state.checks = sanitizing ? sanitizing->checks() : nullptr;
    if (++tid[0] == launch->block[0]) {
      tid[0] = 0;
      if (++tid[1] == launch->block[1]) {
        tid[1] = 0;
        ++tid[2];
      }
    }
  }
  for (unsigned w = 0; w * kWarpSize < threadCount; ++w) {
    unsigned lanes = threadCount - w * kWarpSize;
    warps[w].lanes = lanes >= kWarpSize ? ~0u : (1u << lanes) - 1;
  }
  if (!kernel.counted) {
    counting.reset();
  } else {
    if (!counting)
      counting = std::make_unique<Counting>(*this);
    counting->prepare(*launch, threadCount);
  }
  return true;
}

bool BlockRunner::run(uint64_t index) {
  uint32_t x = index % launch->grid[0];
  uint64_t rest = index / launch->grid[0];
  uint32_t y = rest % launch->grid[1], z = rest / launch->grid[1];
  for (unsigned i = 0; i < threadCount; ++i) {
    uint32_t *ctaid = threads[i].state.ctaid;
    ctaid[0] = x, ctaid[1] = y, ctaid[2] = z;
  }

  if (DeviceMemory::get().poisons())
    std::memset(reinterpret_cast<void *>(threads[0].state.sharedBase), kPoison,
                sharedBytes);

  if (sanitizing)
    sanitizing->startBlock(index);
  if (counting)
    counting->startBlock();

  frame.signal = 0;
  frame.fromFiber = launch->kernel->switches;
  if (sigsetjmp(frame.back, 0)) {
    if (frame.fromFiber)
      announceArrival();
    if (frame.signal)
      explainFault();
    dirty = true;
    return false;
  }
  setFaultFrame(&frame);
  runAll();
  setFaultFrame(nullptr);
  return true;
}

void BlockRunner::runAll() {
  ThreadFunction function = launch->kernel->function;
  if (!launch->kernel->switches) {
    for (unsigned i = 0; i < threadCount; ++i) {
      current = &threads[i];
      function(&threads[i].state);
    }
    return;
  }

  nextFresh = 0;
  alive = threadCount;
  exitedWeight = 0;
  for (unsigned w = 0; w * kWarpSize < threadCount; ++w)
    warps[w].exited = 0;
  if (dirty) {
    fibers.reset();
    readyFirst = readyLast = nullptr;
    barriersInUse = 0;
    for (Barrier &barrier : barriers)
      barrier = {};
    for (unsigned w = 0; w < kMaxThreadsPerBlock / kWarpSize; ++w)
      warps[w].active = 0;
    dirty = false;
  }
  // The first fiber; the last thread to exit comes back here.
  switchFiber(&mainContext, fibers.start(fiberMain, this));
}

void BlockRunner::fiberMain(void *runner, void *stack) {
  static_cast<BlockRunner *>(runner)->fiberLoop(stack);
}

void BlockRunner::fiberLoop(void *stack) {
  announceArrival();
  ThreadFunction function = launch->kernel->function;
  do {
    BlockThread *thread = &threads[nextFresh++];
    current = thread;
    function(&thread->state);
    threadExited(thread);
  } while (nextFresh < threadCount);

  // The stack is free, but nobody starts on it before we have left it.
  fibers.release(stack);
  BlockThread *next = takeReady();
  while (!next && alive) {
    if (!releaseDiverged())
      deadlock();
    next = takeReady();
  }
  if (next)
    current = next;
  switchFiber(&deadContext, next ? next->context : mainContext);
}

void BlockRunner::threadExited(BlockThread *thread) {
  --alive;
  exitedWeight += weight(thread);
  Warp &warp = warps[thread->state.warpId];
  warp.exited |= 1u << thread->state.laneId;
  for (uint32_t left = warp.active; left; left &= left - 1) {
    unsigned group = __builtin_ctz(left);
    if (!(warp.groups[group].mask & ~warp.exited & ~warp.groups[group].arrived))
      finishGroup(warp, group, nullptr);
  }
  for (uint32_t left = barriersInUse; left; left &= left - 1) {
    Barrier &barrier = barriers[__builtin_ctz(left)];
    if (barrier.count == 0 && complete(barrier))
      releaseBarrier(barrier);
  }
}

void BlockRunner::stop(BlockThread *thread, uint32_t line, const char *what) {
  explain(thread, "line " + std::to_string(line) + ": " + what);
  leave();
}

void BlockRunner::deadlock() {
  explainDeadlock();
  leave();
}

void BlockRunner::leave() {
  setFaultFrame(nullptr);
  if (frame.fromFiber)
    announceSwitch(nullptr);
  siglongjmp(frame.back, 1);
}

extern "C" void pascalineEmulatorTrap(ThreadState *state) {
  BlockThread *thread = BlockThread::of(state);
  thread->runner()->stop(thread, state->line, "executed trap");
}

} // namespace pascaline::emulator
