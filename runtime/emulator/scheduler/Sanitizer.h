// Sanitizer.h - checks every access of the block that runs on a worker.
//
// Code translated for it calls the Check hooks of Kernel.h before each access;
// see Shadow.h for what is known of device memory, BlockOrder.h and
// LaunchOrder.h for what counts as ordered. It finds
//
//   - accesses outside live allocations, the block's shared, the thread's local
//     memory and the parameters, to the byte; misaligned ones;
//   - shared and device memory read before anybody wrote it;
//   - races in shared memory between threads, in device memory between blocks;
//   - a barrier that lanes of one warp reach at different lines.
//
// The first finding ends the launch. Threads: belongs to one worker; all of
// them share Shadow and LaunchOrder.
// Tests: test/emulator/Sanitizer*Test.cpp.
#pragma once

#include "runtime/emulator/Kernel.h"
#include "runtime/emulator/scheduler/BlockOrder.h"
#include "runtime/emulator/scheduler/LaunchOrder.h"
#include "runtime/emulator/scheduler/Shadow.h"

#include <string>
#include <vector>

namespace pascaline::emulator {

class BlockRunner;
struct BlockThread;
struct Launch;

// One access, as Kernel.h packs it.
struct Access {
  uint32_t line, bytes;
  bool stores, atomic, strong;
  explicit Access(uint64_t packed)
      : line(uint32_t(packed)), bytes(packed >> 32 & 0xff),
        stores(packed & kAccessStores), atomic(packed & kAccessAtomic),
        strong(packed & kAccessStrong) {}
  bool reads() const { return !stores || atomic; }
};

class Sanitizer {
public:
  explicit Sanitizer(BlockRunner &runner) : runner(runner) {}

  static void startLaunch();
  void prepare(const Launch &launch, uint64_t sharedBytes, unsigned threads);
  void startBlock(uint64_t index);

  const SharedChecks *checks() const { return &sharedChecks; }
  void checkGlobal(BlockThread *thread, uint64_t base,
                   const CheckedAccess *accesses, uint32_t count);
  void checkShared(BlockThread *thread, uint64_t offset, Access access);
  [[noreturn]] void badOffset(BlockThread *thread, uint64_t offset,
                              uint64_t limit, const char *what, Access access);
  void checkBarrier(BlockThread *thread, uint32_t id, uint32_t count,
                    uint32_t line, bool waits);
  void fence(BlockThread *thread, bool beyondBlock);

  // From the barriers and shuffles themselves.
  void barrierDone(uint32_t id, bool wholeBlock);
  void warpSync(uint32_t warp, uint32_t lanes) { order.warpSync(warp, lanes); }

private:
  // A stamp of shared memory: when, and line 21 | strong 1 | thread 10.
  struct SharedStamp {
    uint32_t tick, who;
    uint32_t thread() const { return who & 1023; }
    bool strong() const { return who >> 10 & 1; }
    uint32_t line() const { return who >> 11; }
  };
  // Of all granules, ticks and the rest apart: four are compared at once.
  struct SharedStamps {
    std::vector<uint32_t> tick, who;
    SharedStamp get(size_t i) const { return {tick[i], who[i]}; }
    void set(size_t i, SharedStamp stamp) {
      tick[i] = stamp.tick, who[i] = stamp.who;
    }
  };
  struct BarrierLine {
    uint32_t tick, line;
  };

  bool conflicts(uint64_t stamp, bool strong);
  void checkGlobalAccess(BlockThread *thread, uint64_t address, Access access);
  void checkCells(BlockThread *thread, uint64_t address, const Access &access);
  void readGlobal(BlockThread *thread, ShadowCell &cell, uint64_t address,
                  const Access &access, uint64_t mine);
  void writeGlobal(BlockThread *thread, ShadowCell &cell, uint64_t address,
                   const Access &access, uint64_t mine);
  void checkState(BlockThread *thread, uint64_t address, const Access &access);
  template <int Count> bool isPlainLoad(size_t granule, uint32_t who);
  template <int Count> bool isPlainStore(size_t granule, uint32_t who);
  void noteRead(size_t granule, SharedStamp mine);
  [[gnu::noinline]] void checkSharedGranules(BlockThread *thread,
                                             uint64_t offset,
                                             const Access &access);

  [[noreturn, gnu::cold]] void globalRace(BlockThread *thread, uint64_t address,
                                          const Access &access, uint64_t stamp,
                                          bool stampStored);
  [[noreturn, gnu::cold]] void sharedRace(BlockThread *thread, uint64_t offset,
                                          const Access &access,
                                          SharedStamp stamp, bool stampStored);

  BlockRunner &runner;
  const Launch *launch = nullptr;
  Shadow *shadow = nullptr;
  uint32_t launchNumber = 0;
  uint32_t block = 0;
  uint64_t sharedBytes = 0;
  uint32_t sharedShift = 2, granuleShift = 2, unitShift = 2;
  BlockOrder order;
  BlockKnowledge knowledge;
  bool ordersPartly = false;
  SharedStamps writes, reads, otherReads;
  // The tick at which one more plain load of a granule can change nothing: it
  // is written, ordered before the whole block, and has readers enough. Kernels
  // look here themselves.
  std::vector<uint32_t> settled;
  SharedChecks sharedChecks = {};
  std::vector<BarrierLine> barrierLines; // 16 a warp
};

} // namespace pascaline::emulator
