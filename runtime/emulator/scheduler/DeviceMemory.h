// DeviceMemory.h - the one window of address space that kernels can reach.
//
// A window of kGlobalWindowBytes, aligned to its size, is reserved once a
// process (PROT_NONE, MAP_NORESERVE: it costs no memory) with guards on both
// sides; see Kernel.h for why. Its lower half holds what cuMemAlloc hands out,
// its upper half a shared and a local window for every worker.
//
//   | device memory 508 GiB | local 64 x 64 MiB | shared 64 x 8 GiB |
//
// Allocations are pages made accessible inside it. They are chosen to find
// mistakes rather than to save address space:
//   - an allocation ends at a page's end (up to rounding to 256 bytes) and an
//     inaccessible page follows, so a kernel that overruns it faults;
//   - addresses are reused as late as possible (next fit), so that a kernel
//     that uses freed memory faults too, and freed pages are given back.
//
// Threads: every member may be called from any thread; who frees memory that
// a copy or a kernel still uses must wait for it (the driver's device lock).
// Test: test/emulator/DeviceMemoryTest.cpp.
#pragma once

#include "runtime/emulator/Kernel.h"

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace pascaline::emulator {

inline constexpr unsigned kMaxThreadsPerBlock = 1024;
inline constexpr uint64_t kMaxSharedBytesPerBlock = 48 * 1024;

inline constexpr uint8_t kPoison = 0xff;

struct Allocation {
  uint64_t address;
  uint64_t bytes;    // as asked for
  const void *owner; // the context that it dies with
};

enum class AllocationStatus { Done, OutOfMemory, NoWindow };

class DeviceMemory {
public:
  // Never destroyed: workers may outlive static destructors.
  static DeviceMemory &get();

  // The largest PASCALINE_EMULATOR_MEMORY.
  static uint64_t mostBytes();

  // False when the process could not reserve the window (ulimit -v, say).
  bool available() const { return base != 0; }
  uint64_t windowBase() const { return base; }
  uint64_t sharedWindow(unsigned worker) const;
  uint64_t localWindow(unsigned worker) const;

  // `bytes` > 0. The address is a multiple of 256.
  AllocationStatus allocate(uint64_t bytes, const void *owner,
                            uint64_t *address);
  // False when no allocation starts at `address`.
  bool release(uint64_t address);
  void releaseAllOf(const void *owner);

  // The allocation that holds all of [address, address + bytes).
  std::optional<Allocation> find(uint64_t address, uint64_t bytes) const;

  uint64_t totalBytes() const { return limit; }
  uint64_t freeBytes() const;
  // PASCALINE_EMULATOR_POISON=1: memory that CUDA leaves undefined (what
  // cuMemAlloc gives, shared memory) starts as kPoison, which no kernel that
  // is right can see: as a float it is NaN, as an index it is far away.
  bool poisons() const { return poison; }

  // "40 bytes past the end of an allocation of 400 bytes", for messages.
  std::string describe(uint64_t address) const;

private:
  DeviceMemory();
  void releaseLocked(std::map<uint64_t, Allocation>::iterator allocation);

  uint64_t base = 0;
  uint64_t limit = 0;
  bool poison = false;
  mutable std::mutex mutex;
  uint64_t used = 0;                       // whole pages
  uint64_t cursor = 0;                     // next fit starts here
  std::map<uint64_t, Allocation> live;     // by address
  std::map<uint64_t, uint64_t> freeRanges; // start -> end, whole pages
};

} // namespace pascaline::emulator
