// Kernel.h - the contract between the emulator's two halves.
//
// Translation (PTX text -> LLVM IR -> host code) makes one function per kernel
// that runs ONE thread of the grid. Scheduling (grid -> blocks on cores ->
// threads of a block) calls it. They share only this header.
//
// Memory. All device memory that a kernel can reach lies inside windows that
// the scheduler reserved (mmap, PROT_NONE, MAP_NORESERVE), so that a wild
// address in hostile PTX hits an unmapped page, never the host's own memory:
//
//   global   one window of kGlobalWindowBytes, aligned to its size, with guard
//            pages of kGuardBytes on both sides. A CUdeviceptr IS the host
//            address. Generated code computes
//            base + ((address - base) & (kGlobalWindowBytes - 1)), i.e.
//            base | (address & mask), on the register part of an address
//            before it adds the instruction's constant displacement (a signed
//            32-bit number, hence the guards).
//   shared   a window a worker; .shared addresses are 32-bit offsets from its
//            start: host address = sharedBase + zext(offset) + displacement.
//            4 GiB + guards are reserved, so no check is needed.
//   local    a window a thread inside the worker's window of local memory;
//            .local addresses are offsets from localBase, masked to
//            kLocalWindowBytes - 1.
//   param    read at constant, in-range offsets that translation has checked.
//   const    module memory in the global window.
//   generic  cvta maps shared and local offsets to host addresses; shared and
//            local windows lie inside the global window too, so generic and
//            global accesses are translated alike.
//
// A fault in generated code is caught by the scheduler (SIGSEGV/SIGBUS/SIGFPE
// on its worker while a kernel runs) and becomes CUDA_ERROR_ILLEGAL_ADDRESS.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace pascaline::emulator {

struct CountPlan; // Counters.h

// 1 TiB of address space: half for device memory, half for the shared windows
// of up to 64 workers. TSan leaves programs less than twice that, which is what
// an aligned window takes: there it is 256 GiB, for 16 workers.
#ifdef __SANITIZE_THREAD__
inline constexpr uint64_t kGlobalWindowBytes = uint64_t(1) << 38;
inline constexpr unsigned kMaxWorkers = 16;
#else
inline constexpr uint64_t kGlobalWindowBytes = uint64_t(1) << 40;
inline constexpr unsigned kMaxWorkers = 64;
#endif
inline constexpr uint64_t kGuardBytes = uint64_t(1) << 32;
inline constexpr uint64_t kLocalWindowBytes =
    uint64_t(1) << 16; // sizes above it are refused

// Or-ed into `mode` / `op` of the shuffle and vote hooks by the old forms of
// the instructions, those without .sync: they mean the lanes that take the same
// branch, which scheduling finds out by who arrives at which ThreadState::line.
inline constexpr uint32_t kWithoutSync = 0x100;

// What generated code knows of the thread it runs. Fields are read by
// generated code at fixed offsets: keep standard layout, add at the end.
struct ThreadState {
  uint64_t globalBase; // start of the global window
  uint64_t sharedBase; // host address of .shared offset 0 of this block
  uint64_t localBase;  // host address of .local offset 0 of this thread
  const void
      *params; // the kernel's parameters, laid out as KernelInfo::params says
  uint32_t tid[3];
  uint32_t ntid[3];
  uint32_t ctaid[3];
  uint32_t nctaid[3];
  uint32_t laneId;
  uint32_t warpId;
  uint32_t dynamicSharedBytes;
  uint32_t smId;
  void *scheduler; // the scheduler's own record of this thread
  // The PTX line of the barrier, shuffle, vote or trap that is about to be
  // called; generated code stores it.
  uint32_t line;
  const struct SharedChecks *checks; // null unless the kernel is sanitized
};

// What generated code asks the sanitizer's record of shared memory before it
// calls pascalineEmulatorCheckShared. A plain load is right if for each granule
// (KernelInfo::sharedGranuleShift) that it reads settled[i] == *now.
struct SharedChecks {
  const uint32_t *settled;
  const uint32_t *now;
  uint64_t bytes; // of the block's shared memory
};

// Runs one thread from entry to exit.
using ThreadFunction = void (*)(ThreadState *);

// What a thread asks of its block. Generated code calls these through absolute
// symbols of these names; scheduling defines them. Each may switch to another
// thread of the block and returns when the calling thread may go on.
extern "C" {
// bar.sync / barrier.sync: id 0..15, count = threads expected (0: all of the
// block).
void pascalineEmulatorBarrier(ThreadState *, uint32_t id, uint32_t count);
// bar.arrive: as above, without waiting.
void pascalineEmulatorBarrierArrive(ThreadState *, uint32_t id, uint32_t count);
// bar.red: op 0 popc, 1 and, 2 or, over the predicate of all threads.
uint32_t pascalineEmulatorBarrierReduce(ThreadState *, uint32_t id,
                                        uint32_t count, uint32_t op,
                                        uint32_t predicate);
// shfl{.sync}: mode 0 up, 1 down, 2 bfly, 3 idx; `clampAndMask` is PTX's
// operand c. Returns the value in the low half, the predicate in bit 32. mask:
// the lanes that take part (~0u for the old form, which means the lanes not yet
// exited).
uint64_t pascalineEmulatorShuffle(ThreadState *, uint32_t mode, uint32_t value,
                                  uint32_t lane, uint32_t clampAndMask,
                                  uint32_t mask);
// vote{.sync}: op 0 all, 1 any, 2 uni, 3 ballot.
uint32_t pascalineEmulatorVote(ThreadState *, uint32_t op, uint32_t predicate,
                               uint32_t mask);
// bar.warp.sync
void pascalineEmulatorWarpSync(ThreadState *, uint32_t mask);
// trap; does not return.
void pascalineEmulatorTrap(ThreadState *);
// tex.1d of a texture object's handle, in a PTX line: four channels, as bits.
// Returns only if it is a texture.
void pascalineEmulatorTexture(ThreadState *, uint64_t handle, int32_t x,
                              uint32_t line, uint32_t *result);

// Called by code that was translated for the sanitizer, before accesses,
// barriers and fences. They return if all is well; else the launch fails. A
// call stands for `count` accesses at base + displacement that certainly
// follow.
struct CheckedAccess {
  int64_t displacement;
  uint64_t access; // see kAccess
};
// A global, const or generic address, before it is confined to the window.
void pascalineEmulatorCheckGlobal(ThreadState *, uint64_t base,
                                  const CheckedAccess *, uint32_t count);
void pascalineEmulatorCheckShared(ThreadState *, uint64_t base,
                                  const CheckedAccess *, uint32_t count);
// An offset that is misaligned, or not below `limit`.
void pascalineEmulatorBadLocal(ThreadState *, uint64_t offset, uint64_t limit,
                               uint64_t access);
void pascalineEmulatorBadParam(ThreadState *, uint64_t offset, uint64_t limit,
                               uint64_t access);
void pascalineEmulatorCheckBarrier(ThreadState *, uint32_t id, uint32_t count,
                                   uint32_t line, uint32_t waits);
void pascalineEmulatorCheckFence(ThreadState *, uint32_t beyondBlock);

// Called by code that was translated for counting; see Counters.h.
// At the start of a kernel or, with `called`, of a device function: the lane's
// slot 0; the next ones follow at distances of kWarpLanes words.
uint64_t *pascalineEmulatorCountEnter(ThreadState *, uint32_t called);
// Before a block; may switch to other threads.
void pascalineEmulatorCountBlock(ThreadState *, uint32_t block);
// At the end of a device function, and of the thread.
void pascalineEmulatorCountReturn(ThreadState *);
void pascalineEmulatorCountExit(ThreadState *);
}

// An access as the Check hooks take it: the PTX line in bits 0..31, the bytes
// (a power of two up to 16) in 32..39, and these.
inline constexpr uint64_t kAccessStores = uint64_t(1) << 40;
inline constexpr uint64_t kAccessAtomic = uint64_t(1)
                                          << 41; // atom, red: stores too
inline constexpr uint64_t kAccessStrong = uint64_t(1)
                                          << 42; // atomic or volatile

struct ParamInfo {
  uint32_t offset; // in ThreadState::params
  uint32_t bytes;
  uint32_t align;
};

struct KernelInfo {
  std::string name;
  ThreadFunction function = nullptr;
  std::vector<ParamInfo> params;
  uint32_t paramBytes = 0;
  uint32_t staticSharedBytes = 0;
  uint32_t localBytes = 0;    // a thread
  uint32_t maxThreads = 1024; // .maxntid / .reqntid product, else 1024
  uint32_t requiredBlock[3] = {0, 0, 0}; // .reqntid, zeros when absent
  bool switches = false;  // calls one of the hooks above that may wait: needs a
                          // fiber a thread
  bool sanitized = false; // calls the Check hooks
  std::shared_ptr<const CountPlan> counted; // calls the Count hooks; else null
  // For the sanitizer. log2 of the fewest and of the most bytes of an access
  // that may reach this space:
  uint8_t sharedGranuleShift = 4;
  uint8_t globalGranuleShift = 4;
  uint8_t globalUnitShift = 0;
  // Something but barriers of the whole block may order its threads.
  bool ordersPartly = false;
};

// One variable of the module in .global or .const space, to be placed in the
// global window before the code that names it is linked.
struct ModuleVariable {
  std::string name;
  uint64_t bytes;
  uint32_t align;
  bool isConst;
  bool isTexture;               // 8 bytes that hold a texture's handle
  std::vector<uint8_t> initial; // empty: zeros; else `bytes` long
};

} // namespace pascaline::emulator
