// WarpAccess.h - what one access of a warp costs sm_61's memory: sectors,
// wavefronts, words.
//
// Test: test/emulator/CounterAccessTest.cpp.
#pragma once

#include "runtime/emulator/Counters.h"

namespace pascaline::emulator {

// The lanes in `mask` access `bytes` (1 to 16) each at addresses[lane].
struct WarpAccess {
  const uint64_t *addresses;
  uint32_t mask;
  uint32_t bytes;
};

// 32-byte sectors of device memory that the lanes touch, each once.
uint32_t globalSectors(const WarpAccess &access);

// Passes through the 32 banks of 4 bytes. Lanes that access the same word are
// served in one pass; 8 bytes a lane go by half-warps and 16 by quarter-warps,
// one after another. Each lane of an atomic takes its bank for itself.
uint32_t sharedWavefronts(const WarpAccess &access, bool atomic);

// Addresses are offsets in the lane's own local memory, which hardware
// interleaves by words: word w of lane l lies at byte (w * 32 + l) * 4.
uint32_t localSectors(const WarpAccess &access);

// Different 4-byte words: the constant cache serves one a pass.
uint32_t constantWords(const WarpAccess &access);

} // namespace pascaline::emulator
