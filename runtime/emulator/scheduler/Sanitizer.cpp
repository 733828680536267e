#include "runtime/emulator/scheduler/Sanitizer.h"
#include "runtime/emulator/scheduler/Block.h"

#include <algorithm>
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
  const KernelInfo &kernel = *launch->kernel;
  sharedShift = kernel.sharedGranuleShift;
  unitShift = kernel.globalUnitShift;
  granuleShift = std::min(kernel.globalGranuleShift, kernel.globalUnitShift);
  ordersPartly = kernel.ordersPartly;
  std::vector<uint32_t> *all[] = {&writes.tick,   &writes.who, &reads.tick,
                                  &reads.who,     &settled,    &otherReads.tick,
                                  &otherReads.who};
  bool restarts = order.prepare(threads);
  size_t granules = (sharedBytes >> sharedShift) + 1;
  // What earlier launches left has earlier ticks and means nothing.
  for (std::vector<uint32_t> *each : all) {
    if (restarts)
      each->clear();
    if (each->size() < granules)
      each->resize(granules);
  }
  sharedChecks = {settled.data(), order.clock(), sharedBytes};
  barrierLines.assign((threads + 31) / 32 * 16, {});
}

void Sanitizer::startBlock(uint64_t index) {
  block = uint32_t(index) & Stamp::kBlockMask;
  order.startBlock();
  knowledge.start();
}

// Shared memory.

// Where only barriers of the whole block order, the first reader of an interval
// is enough: a thread runs without a break from barrier to barrier, so when the
// first reader is the one that writes, nobody has read between. Else two
// readers are kept, of different warps where there are such: whoever writes
// next is another thread than one of them, and most likely of another warp.
inline void Sanitizer::noteRead(size_t granule, SharedStamp mine) {
  uint32_t thread = mine.thread();
  auto replaceable = [&](const SharedStamp &stamp) {
    return stamp.tick <= order.start() || stamp.thread() == thread ||
           order.isOrdered(thread, stamp.thread(), stamp.tick);
  };
  SharedStamp read = reads.get(granule), other = otherReads.get(granule);
  if (replaceable(read)) {
    reads.set(granule, read = mine);
  } else if (replaceable(other)) {
    otherReads.set(granule, other = mine);
  } else if (read.thread() / 32 == other.thread() / 32) {
    reads.set(granule, read = other);
    otherReads.set(granule, other = mine);
  } else if (read.thread() / 32 == thread / 32) {
    reads.set(granule, read = mine);
  } else {
    otherReads.set(granule, other = mine);
  }
  uint32_t written = writes.tick[granule] - order.start();
  if (written < order.lastBarrier() - order.start() && read.tick == mine.tick &&
      other.tick == mine.tick && read.thread() / 32 != other.thread() / 32 &&
      !read.strong() && !other.strong())
    settled[granule] = mine.tick;
}

namespace {

// A vector of ticks, which stay below 2^31, for signed comparisons.
template <int Count> struct Ticks {
  typedef int32_t Vector __attribute__((vector_size(4 * Count)));
  static Vector load(const std::vector<uint32_t> &from, size_t at) {
    Vector vector;
    std::memcpy(&vector, &from[at], sizeof vector);
    return vector;
  }
  static void store(std::vector<uint32_t> &to, size_t at, Vector vector) {
    std::memcpy(&to[at], &vector, sizeof vector);
  }
  static Vector all(uint32_t value) { return Vector{} + int32_t(value); }
  static bool any(Vector mask) {
    int32_t parts[Count], some = 0;
    std::memcpy(parts, &mask, sizeof parts);
    for (int32_t part : parts)
      some |= part;
    return some != 0;
  }
};

} // namespace

// Loads of granules that were written before the last barrier of the block, by
// kernels that only such barriers order.
template <int Count>
inline bool Sanitizer::isPlainLoad(size_t granule, uint32_t who) {
  using T = Ticks<Count>;
  auto epoch = T::all(order.lastBarrier());
  auto written = T::load(writes.tick, granule);
  if (T::any((written < T::all(order.start())) | (written >= epoch)))
    return false;
  auto read = T::load(reads.tick, granule);
  auto first = read < epoch;
  if (T::any(first)) {
    auto by = T::load(reads.who, granule);
    T::store(reads.tick, granule, first ? T::all(order.now()) : read);
    T::store(reads.who, granule, first ? T::all(who) : by);
  }
  T::store(settled, granule, T::all(order.now()));
  return true;
}

// Stores to granules that nobody has accessed since that barrier.
template <int Count>
inline bool Sanitizer::isPlainStore(size_t granule, uint32_t who) {
  using T = Ticks<Count>;
  auto epoch = T::all(order.lastBarrier());
  if (T::any((T::load(writes.tick, granule) >= epoch) |
             (T::load(reads.tick, granule) >= epoch)))
    return false;
  T::store(writes.tick, granule, T::all(order.now()));
  T::store(writes.who, granule, T::all(who));
  T::store(settled, granule, T::all(0));
  return true;
}

inline void Sanitizer::checkShared(BlockThread *thread, uint64_t offset,
                                   Access access) {
  if (offset & (access.bytes - 1))
    runner.report(thread, FailureKind::MisalignedAddress, access,
                  "at a misaligned offset of shared memory", offset);
  if (offset >= sharedBytes || sharedBytes - offset < access.bytes)
    runner.report(thread, FailureKind::IllegalAddress, access,
                  "outside the block's shared memory", offset, sharedBytes);
  if (!ordersPartly) {
    size_t granule = offset >> sharedShift;
    uint32_t who = access.line << 11 | threadNumber(thread);
    switch (access.bytes >> sharedShift) {
    case 1:
      if (access.stores ? isPlainStore<1>(granule, who)
                        : isPlainLoad<1>(granule, who))
        return;
      break;
    case 2:
      if (access.stores ? isPlainStore<2>(granule, who)
                        : isPlainLoad<2>(granule, who))
        return;
      break;
    case 4:
      if (access.stores ? isPlainStore<4>(granule, who)
                        : isPlainLoad<4>(granule, who))
        return;
      break;
    }
  }
  checkSharedGranules(thread, offset, access);
}

void Sanitizer::checkSharedGranules(BlockThread *thread, uint64_t offset,
                                    const Access &access) {
  uint32_t self = threadNumber(thread);
  if (access.strong)
    order.meet(self, offset);
  SharedStamp mine{order.now(),
                   access.line << 11 | uint32_t(access.strong) << 10 | self};
  size_t granule = offset >> sharedShift;
  for (uint32_t i = 0; i < access.bytes; i += 1u << sharedShift, ++granule) {
    const SharedStamp write = writes.get(granule);
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
      noteRead(granule, mine);
      continue;
    }
    for (SharedStamp read : {reads.get(granule), otherReads.get(granule)})
      if (read.tick >= order.start() &&
          !order.isOrdered(self, read.thread(), read.tick) &&
          !(access.strong && read.strong()))
        sharedRace(thread, offset + i, access, read, false);
    settled[granule] = 0;
    // An atomic access does not hide the thread's own plain one before it.
    if (!(access.strong && !write.strong() && write.thread() == self &&
          write.tick >= order.lastBarrier()))
      writes.set(granule, mine);
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

// The cells of an access. Where all of a kernel's accesses are of one width a
// cell stands for one; else for the widest, until a narrower access splits it.
inline void Sanitizer::checkCells(BlockThread *thread, uint64_t address,
                                  const Access &access) {
  uint64_t mine = Stamp::pack(launchNumber, block, threadNumber(thread),
                              knowledge.segment, access.strong, access.line);
  auto check = [&](ShadowCell &cell, uint64_t at) {
    if (access.stores)
      writeGlobal(thread, cell, at, access, mine);
    else
      readGlobal(thread, cell, at, access, mine);
  };
  bool wide = access.bytes >> unitShift;
  bool mixed = unitShift != granuleShift;
  if (wide && !(mixed && shadow->isSplit(address, unitShift, launchNumber))) {
    check(*shadow->cell(address, unitShift), address);
    // Another worker may have split it meanwhile and copied an older write.
    if (!access.stores || !mixed ||
        !shadow->isSplit(address, unitShift, launchNumber))
      return;
  }
  if (!wide && !shadow->isSplit(address, unitShift, launchNumber)) {
    FaultGuard guard(runner);
    shadow->split(address, unitShift, granuleShift, launchNumber);
  }
  ShadowCell *cell = shadow->part(address, granuleShift);
  for (uint32_t i = 0; i < access.bytes; i += 1u << granuleShift)
    check(*cell++, address + i);
}

inline void Sanitizer::checkGlobalAccess(BlockThread *thread, uint64_t address,
                                         Access access) {
  if (address & (access.bytes - 1))
    runner.report(thread, FailureKind::MisalignedAddress, access,
                  "at a misaligned address", address);
  if (!shadow->covers(address)) {
    const ThreadState &state = thread->state;
    // Generic addresses of the thread's other memories.
    if (address - state.sharedBase < kGuardBytes)
      return checkShared(thread, address - state.sharedBase, access);
    uint64_t local = address - state.localBase;
    uint64_t limit = launch->kernel->localBytes;
    if (local >= kLocalWindowBytes)
      runner.report(thread, FailureKind::IllegalAddress, access,
                    "outside live allocations", address);
    if (local >= limit || limit - local < access.bytes)
      badOffset(thread, local, limit, "outside the thread's local memory",
                access);
    return;
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
  checkCells(thread, address, access);
}

void Sanitizer::checkGlobal(BlockThread *thread, uint64_t base,
                            const CheckedAccess *accesses, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i)
    checkGlobalAccess(thread, base + uint64_t(accesses[i].displacement),
                      Access(accesses[i].access));
}

void Sanitizer::badOffset(BlockThread *thread, uint64_t offset, uint64_t limit,
                          const char *what, Access access) {
  if (offset & (access.bytes - 1))
    runner.report(thread, FailureKind::MisalignedAddress, access,
                  "at a misaligned offset", offset);
  runner.report(thread, FailureKind::IllegalAddress, access, what, offset,
                limit);
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

void pascalineEmulatorCheckGlobal(ThreadState *state, uint64_t base,
                                  const CheckedAccess *accesses,
                                  uint32_t count) {
  BlockThread *thread = BlockThread::of(state);
  thread->runner()->sanitizer()->checkGlobal(thread, base, accesses, count);
}

void pascalineEmulatorCheckShared(ThreadState *state, uint64_t base,
                                  const CheckedAccess *accesses,
                                  uint32_t count) {
  BlockThread *thread = BlockThread::of(state);
  Sanitizer *sanitizer = thread->runner()->sanitizer();
  for (uint32_t i = 0; i < count; ++i)
    sanitizer->checkShared(thread, base + uint64_t(accesses[i].displacement),
                           Access(accesses[i].access));
}

void pascalineEmulatorBadLocal(ThreadState *state, uint64_t offset,
                               uint64_t limit, uint64_t access) {
  BlockThread *thread = BlockThread::of(state);
  thread->runner()->sanitizer()->badOffset(thread, offset, limit,
                                           "outside the thread's local memory",
                                           Access(access));
}

void pascalineEmulatorBadParam(ThreadState *state, uint64_t offset,
                               uint64_t limit, uint64_t access) {
  BlockThread *thread = BlockThread::of(state);
  thread->runner()->sanitizer()->badOffset(
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
