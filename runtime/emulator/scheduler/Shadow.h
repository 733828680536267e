// Shadow.h - what the sanitizer knows of every byte of device memory.
//
// With PASCALINE_EMULATOR_SANITIZE=1 two regions of address space are reserved
// beside the window of device memory, and take pages as kernels touch them:
//
//   state   a byte for each byte: is it allocated, has anybody defined it?
//   cells   three stamps for each unit (the width of the kernel's widest
//           access, 1 to 16 bytes): the last write and two reads by different
//           blocks, for races between the blocks of one launch.
//   parts   the same for each granule (the width of its narrowest access) of
//           units that an access narrower than the unit has split in this
//           launch; splits says which those are.
//
// A stamp packs launch, block, thread, fence interval, line and whether the
// access was atomic into 64 bits. Stamps of earlier launches mean nothing; the
// launch's number has 8 bits, and the cells are emptied when it wraps.
// Threads: members may be called from any thread, with DeviceMemory's rules.
// Test: test/emulator/SanitizerMemoryTest.cpp.
#pragma once

#include "runtime/emulator/Kernel.h"

#include <atomic>
#include <mutex>

namespace pascaline::emulator {

struct ShadowCell {
  std::atomic<uint64_t> write, read, otherRead;
};

struct Stamp {
  static constexpr uint32_t kMaxSegment = 127;
  static constexpr uint32_t kBlockMask = (1u << 20) - 1;
  static constexpr uint32_t kMaxLine = (1u << 18) - 1;
  static constexpr uint64_t kUnsegmented =
      uint64_t(1023) << 26 | ((uint64_t(1) << 19) - 1); // thread, strong, line
  static uint64_t pack(uint32_t launch, uint32_t block, uint32_t thread,
                       uint32_t segment, bool strong, uint32_t line) {
    return uint64_t(launch) << 56 | uint64_t(block & kBlockMask) << 36 |
           uint64_t(thread) << 26 |
           uint64_t(segment < kMaxSegment ? segment : kMaxSegment) << 19 |
           uint64_t(strong) << 18 | (line < kMaxLine ? line : kMaxLine);
  }
  static uint32_t launch(uint64_t stamp) { return stamp >> 56; }
  static uint32_t block(uint64_t stamp) { return stamp >> 36 & kBlockMask; }
  static uint32_t thread(uint64_t stamp) { return stamp >> 26 & 1023; }
  static uint32_t segment(uint64_t stamp) { return stamp >> 19 & kMaxSegment; }
  static bool strong(uint64_t stamp) { return stamp >> 18 & 1; }
  static uint32_t line(uint64_t stamp) { return stamp & kMaxLine; }
};

class Shadow {
public:
  static constexpr uint8_t kAllocated = 1, kDefined = 3;

  // Null when the process does not sanitize. Never destroyed.
  static Shadow *get();
  // PASCALINE_EMULATOR_SANITIZE, read once.
  static bool wanted();

  // Called once, by DeviceMemory. False: the host gave no address space.
  static bool reserve(uint64_t windowBase, uint64_t deviceBytes);

  // What the host does to device memory. Nothing happens without a shadow, and
  // host addresses are told by their value.
  static void noteDefined(uint64_t address, uint64_t bytes);
  static void noteCopy(uint64_t to, uint64_t from, uint64_t bytes);

  void allocate(uint64_t address, uint64_t bytes);
  // [start, end) is whole pages.
  void release(uint64_t start, uint64_t end);

  bool covers(uint64_t address) const { return address - base < bytes; }
  uint8_t *state(uint64_t address) const { return states + (address - base); }
  ShadowCell *cell(uint64_t address, uint32_t unitShift) const {
    return cells + ((address - base) >> unitShift);
  }
  ShadowCell *part(uint64_t address, uint32_t granuleShift) const {
    return parts + ((address - base) >> granuleShift);
  }
  bool isSplit(uint64_t address, uint32_t unitShift, uint32_t launch) const {
    return splits[(address - base) >> unitShift].load() == launch;
  }
  // From now on the unit's parts count, which begin as the unit was.
  void split(uint64_t address, uint32_t unitShift, uint32_t granuleShift,
             uint32_t launch);
  // A new launch's number, 1 to 255. One launch runs at a time.
  uint32_t nextLaunch();

private:
  uint64_t base = 0, bytes = 0;
  uint8_t *states = nullptr;
  ShadowCell *cells = nullptr, *parts = nullptr;
  std::atomic<uint8_t> *splits = nullptr;
  std::mutex splitting[64];
  uint32_t launch = 0;
};

} // namespace pascaline::emulator
