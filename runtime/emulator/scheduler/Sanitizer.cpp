#include "runtime/emulator/scheduler/Sanitizer.h"
#include "runtime/emulator/scheduler/Block.h"

#include <cstring>

namespace pascaline::emulator {
namespace {

LaunchOrder launchOrder;
uint32_t currentLaunch = 0; // set while no block runs

// The state bytes of up to 16 bytes that nothing is wrong with.
inline bool allDefined(const uint8_t *state, uint32_t bytes) {
  constexpr uint64_t kAll = 0x0303030303030303;
  uint64_t first = 0, second = kAll;
  switch (bytes) {
  case 16:
    std::memcpy(&second, state + 8, 8);
    [[fallthrough]];
  case 8:
    std::memcpy(&first, state, 8);
    return first == kAll && second == kAll;
  case 4:
    std::memcpy(&first, state, 4);
    return first == (kAll & 0xffffffff);
  case 2:
    return state[0] == Shadow::kDefined && state[1] == Shadow::kDefined;
  default:
    return state[0] == Shadow::kDefined;
  }
}

uint32_t threadNumber(const BlockThread *thread) {
  return thread->state.warpId * 32 + thread->state.laneId;
}

} // namespace

void Sanitizer::startLaunch() {
  currentLaunch = Shadow::get()->nextLaunch();
  launchOrder.startLaunch();
}

void Sanitizer::prepare(const Launch &newLaunch, uint64_t shared,
                        unsigned threads) {
  launch = &newLaunch;
  shadow = Shadow::get();
  launchNumber = currentLaunch;
  sharedBytes = shared;
  sharedShift = launch->kernel->sharedGranuleShift;
  globalShift = launch->kernel->globalGranuleShift;
  if (order.prepare(threads)) {
    cells.clear();
    settled.clear();
  }
  size_t granules = (sharedBytes >> sharedShift) + 1;
  // What earlier launches left has earlier ticks and means nothing.
  if (cells.size() < granules) {
    cells.resize(granules);
    settled.resize(granules);
  }
  barrierLines.assign((threads + 31) / 32 * 16, {});
}

void Sanitizer::startBlock(uint64_t index) {
  block = uint32_t(index) & Stamp::kBlockMask;
  order.startBlock();
  knowledge.start();
}

// Shared memory.

// Two readers are kept, of different warps where there are such: whoever writes
// next is another thread than one of them.
inline void Sanitizer::noteRead(SharedCell &cell, uint32_t &settledAt,
                                SharedStamp mine) {
  uint32_t thread = mine.thread();
  auto replaceable = [&](const SharedStamp &stamp) {
    return stamp.tick <= order.start() || stamp.thread() == thread ||
           order.isOrdered(thread, stamp.thread(), stamp.tick);
  };
  if (replaceable(cell.read)) {
    cell.read = mine;
  } else if (replaceable(cell.otherRead)) {
    cell.otherRead = mine;
  } else if (cell.read.thread() / 32 == cell.otherRead.thread() / 32) {
    cell.read = cell.otherRead;
    cell.otherRead = mine;
  } else if (cell.read.thread() / 32 == thread / 32) {
    cell.read = mine;
  } else {
    cell.otherRead = mine;
  }
  uint32_t written = cell.write.tick - order.start();
  if (written < order.lastBarrier() - order.start() &&
      cell.read.tick == mine.tick && cell.otherRead.tick == mine.tick &&
      cell.read.thread() != cell.otherRead.thread() && !cell.read.strong() &&
      !cell.otherRead.strong())
    settledAt = mine.tick;
}

[[gnu::always_inline]] inline void
Sanitizer::checkShared(BlockThread *thread, uint64_t offset, Access access) {
  if (offset & (access.bytes - 1))
    runner.report(thread, FailureKind::MisalignedAddress, access,
                  "at a misaligned offset of shared memory", offset);
  if (offset >= sharedBytes || sharedBytes - offset < access.bytes)
    runner.report(thread, FailureKind::IllegalAddress, access,
                  "outside the block's shared memory", offset);
  if (!access.stores && !access.strong) {
    const uint32_t *at = &settled[offset >> sharedShift];
    uint32_t count = ((access.bytes - 1) >> sharedShift) + 1;
    uint32_t now = order.now();
    bool fine = true;
    if (count == 4) // a vector of words
      fine =
          ((at[0] ^ now) | (at[1] ^ now) | (at[2] ^ now) | (at[3] ^ now)) == 0;
    else
      for (uint32_t i = 0; i < count; ++i)
        fine &= at[i] == now;
    if (fine)
      return;
  }
  checkSharedCells(thread, offset, access);
}

void Sanitizer::checkSharedCells(BlockThread *thread, uint64_t offset,
                                 const Access &access) {
  uint32_t self = threadNumber(thread);
  if (access.strong)
    order.meet(self, offset);
  SharedStamp mine{order.now(),
                   access.line << 11 | uint32_t(access.strong) << 10 | self};
  SharedCell *cell = &cells[offset >> sharedShift];
  uint32_t *settledAt = &settled[offset >> sharedShift];
  for (uint32_t i = 0; i < access.bytes;
       i += 1u << sharedShift, ++cell, ++settledAt) {
    const SharedStamp write = cell->write;
    bool written = write.tick >= order.start();
    if (written && !order.isOrdered(self, write.thread(), write.tick) &&
        !(access.strong && write.strong()))
      sharedRace(thread, offset + i, access, write, true);
    if (access.reads() && !written)
      runner.report(thread, FailureKind::LaunchFailed, access,
                    "of shared memory that no thread of the block has "
                    "written",
                    offset + i);
    if (!access.stores) {
      noteRead(*cell, *settledAt, mine);
      continue;
    }
    for (SharedStamp read : {cell->read, cell->otherRead})
      if (read.tick >= order.start() &&
          !order.isOrdered(self, read.thread(), read.tick) &&
          !(access.strong && read.strong()))
        sharedRace(thread, offset + i, access, read, false);
    *settledAt = 0;
    // An atomic access does not hide the thread's own plain one before it.
    if (!(access.strong && !write.strong() && write.thread() == self &&
          write.tick >= order.lastBarrier()))
      cell->write = mine;
  }
}

// Device memory.

bool Sanitizer::conflicts(uint64_t stamp, bool strong) {
  if (Stamp::launch(stamp) != launchNumber || Stamp::block(stamp) == block ||
      (strong && Stamp::strong(stamp)))
    return false;
  FaultGuard guard(runner);
  return !launchOrder.isKnown(knowledge, Stamp::block(stamp),
                              Stamp::segment(stamp));
}

inline void Sanitizer::readGlobal(BlockThread *thread, ShadowCell &cell,
                                  uint64_t address, const Access &access,
                                  uint64_t mine) {
  constexpr auto relaxed = std::memory_order_relaxed;
  // Launch and block agree, and no fence came between: the first read stays.
  auto isSame = [&](uint64_t stamp) {
    return ((stamp ^ mine) & ~Stamp::kUnsegmented) == 0;
  };
  uint64_t read = cell.read.load(relaxed);
  if (!isSame(read) && !isSame(cell.otherRead.load(relaxed))) {
    // Plain stores: of two blocks that do this in the same nanosecond one may
    // be forgotten, which costs less than a locked exchange a word.
    cell.read.store(mine, relaxed);
    if (Stamp::launch(read) == launchNumber && Stamp::block(read) != block)
      cell.otherRead.store(read, relaxed);
  }
  uint64_t write = cell.write.load(relaxed);
  if (write >> 56 == launchNumber && conflicts(write, access.strong))
    globalRace(thread, address, access, write, true);
}

void Sanitizer::writeGlobal(BlockThread *thread, ShadowCell &cell,
                            uint64_t address, const Access &access,
                            uint64_t mine) {
  uint64_t old = cell.write.exchange(mine);
  if (old && conflicts(old, access.strong))
    globalRace(thread, address, access, old, true);
  // An atomic access does not hide the block's own plain one before it.
  if (access.strong && (old ^ mine) >> 36 == 0 && !Stamp::strong(old))
    cell.write.store(old);
  for (auto *read : {&cell.read, &cell.otherRead}) {
    uint64_t stamp = read->load(std::memory_order_relaxed);
    if (stamp && conflicts(stamp, access.strong))
      globalRace(thread, address, access, stamp, false);
  }
}

// Bounds, and whether somebody has written what is read.
inline void Sanitizer::checkState(BlockThread *thread, uint64_t address,
                                  const Access &access) {
  uint8_t *state = shadow->state(address);
  if (allDefined(state, access.bytes))
    return;
  for (uint32_t i = 0; i < access.bytes; ++i)
    if (!state[i])
      runner.report(thread, FailureKind::IllegalAddress, access,
                    "outside live allocations", address);
  if (access.reads())
    runner.report(thread, FailureKind::LaunchFailed, access,
                  "of device memory that nobody has written", address);
  std::memset(state, Shadow::kDefined, access.bytes);
}

[[gnu::always_inline]] inline void
Sanitizer::checkGlobal(BlockThread *thread, uint64_t address, Access access) {
  if (address & (access.bytes - 1))
    runner.report(thread, FailureKind::MisalignedAddress, access,
                  "at a misaligned address", address);
  const ThreadState &state = thread->state;
  if (!shadow->covers(address)) {
    // Generic addresses of the thread's other memories.
    if (address - state.sharedBase < kGuardBytes)
      return checkShared(thread, address - state.sharedBase, access);
    if (address - state.localBase < kLocalWindowBytes)
      return checkBounds(thread, address - state.localBase,
                         launch->kernel->localBytes,
                         "outside the thread's local memory", access);
    runner.report(thread, FailureKind::IllegalAddress, access,
                  "outside live allocations", address);
  }
  if (knowledge.pending) {
    FaultGuard guard(runner);
    launchOrder.learn(knowledge.pending, knowledge);
    knowledge.pending = 0;
  }
  checkState(thread, address, access);
  if (access.strong) {
    FaultGuard guard(runner);
    if (access.stores)
      launchOrder.publish(address, block, knowledge);
    // What this access sees, it has seen when we are called next.
    if (access.reads() && launchOrder.anythingPublished())
      knowledge.pending = address;
  }
  uint64_t mine = Stamp::pack(launchNumber, block, threadNumber(thread),
                              knowledge.segment, access.strong, access.line);
  ShadowCell *cell = shadow->cell(address, globalShift);
  for (uint32_t i = 0; i < access.bytes; i += 1u << globalShift, ++cell) {
    if (access.stores)
      writeGlobal(thread, *cell, address + i, access, mine);
    else
      readGlobal(thread, *cell, address + i, access, mine);
  }
}

void Sanitizer::checkBounds(BlockThread *thread, uint64_t offset,
                            uint64_t limit, const char *what, Access access) {
  if (offset & (access.bytes - 1))
    runner.report(thread, FailureKind::MisalignedAddress, access,
                  "at a misaligned offset", offset);
  if (offset >= limit || limit - offset < access.bytes)
    runner.report(thread, FailureKind::IllegalAddress, access, what, offset);
}

void Sanitizer::fence(BlockThread *thread, bool beyondBlock) {
  order.fence(threadNumber(thread));
  if (beyondBlock)
    knowledge.fence();
}

// Barriers.

void Sanitizer::checkBarrier(BlockThread *thread, uint32_t id, uint32_t count,
                             uint32_t line, bool waits) {
  if (count || !waits)
    order.arrive(threadNumber(thread), id, waits);
  if (!waits)
    return;
  // The hardware counts warps: lanes that come to one barrier from different
  // places pass it in a way that nobody wrote down.
  BarrierLine &last = barrierLines[thread->state.warpId * 16 + id];
  if (last.line && last.tick >= order.start() && last.line != line)
    runner.reportBarrier(thread, id, line, last.line);
  last = {order.now(), line};
}

void Sanitizer::barrierDone(uint32_t id, bool wholeBlock) {
  order.complete(id);
  if (wholeBlock)
    order.blockBarrier();
  for (size_t i = id; i < barrierLines.size(); i += 16)
    barrierLines[i].line = 0;
}

// Reports.

void Sanitizer::globalRace(BlockThread *thread, uint64_t address,
                           const Access &access, uint64_t stamp,
                           bool stampStored) {
  runner.reportRace(thread, access, address, Stamp::thread(stamp),
                    Stamp::line(stamp), stampStored,
                    int64_t(Stamp::block(stamp)));
}

void Sanitizer::sharedRace(BlockThread *thread, uint64_t offset,
                           const Access &access, SharedStamp stamp,
                           bool stampStored) {
  runner.reportRace(thread, access, offset, stamp.thread(), stamp.line(),
                    stampStored, -1);
}

// What generated code calls.

extern "C" {

void pascalineEmulatorCheckGlobal(ThreadState *state, uint64_t address,
                                  uint64_t access) {
  BlockThread *thread = BlockThread::of(state);
  thread->runner()->sanitizer()->checkGlobal(thread, address, Access(access));
}

void pascalineEmulatorCheckShared(ThreadState *state, uint64_t offset,
                                  uint64_t access) {
  BlockThread *thread = BlockThread::of(state);
  thread->runner()->sanitizer()->checkShared(thread, offset, Access(access));
}

void pascalineEmulatorCheckLocal(ThreadState *state, uint64_t offset,
                                 uint64_t limit, uint64_t access) {
  BlockThread *thread = BlockThread::of(state);
  thread->runner()->sanitizer()->checkBounds(
      thread, offset, limit, "outside the thread's local memory",
      Access(access));
}

void pascalineEmulatorCheckParam(ThreadState *state, uint64_t offset,
                                 uint64_t limit, uint64_t access) {
  BlockThread *thread = BlockThread::of(state);
  thread->runner()->sanitizer()->checkBounds(
      thread, offset, limit, "outside the parameters", Access(access));
}

void pascalineEmulatorCheckBarrier(ThreadState *state, uint32_t id,
                                   uint32_t count, uint32_t line,
                                   uint32_t waits) {
  BlockThread *thread = BlockThread::of(state);
  if (id < 16)
    thread->runner()->sanitizer()->checkBarrier(thread, id, count, line, waits);
}

void pascalineEmulatorCheckFence(ThreadState *state, uint32_t beyondBlock) {
  BlockThread *thread = BlockThread::of(state);
  thread->runner()->sanitizer()->fence(thread, beyondBlock != 0);
}

} // extern "C"

} // namespace pascaline::emulator
