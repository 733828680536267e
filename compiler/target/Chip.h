// Chip.h - the sm_61 cards, one row each, and the limits that they share.
//
// The code is the same for every card; a row only tunes the choice of tiles.
// Clock and bandwidth are NVIDIA's published boost clock and memory speed.
//
// Test: test/compiler/TargetTest.cpp
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace pascaline {

struct Chip {
  llvm::StringRef name;  ///< as in --chip
  llvm::StringRef title; ///< as on the box
  int64_t multiprocessors;
  int64_t clockMhz;
  int64_t bandwidthMBs; ///< device memory, 10^6 bytes a second
  int64_t l2Bytes;
  int64_t memoryBytes;

  // What every sm_61 chip has.
  static constexpr int64_t kLanes = 128; ///< fp32 lanes of a multiprocessor
  static constexpr int64_t kWarpSize = 32;
  static constexpr int64_t kMaxThreads = 1024;           ///< of a block
  static constexpr int64_t kSharedBytes = 48 * 1024;     ///< of a block
  static constexpr int64_t kSharedBytesTotal = 96 << 10; ///< of an SM
  static constexpr int64_t kRegisters = 64 * 1024;       ///< of an SM
  static constexpr int64_t kMaxWarps = 64;               ///< on an SM
  static constexpr int64_t kMaxBlocks = 32;              ///< on an SM
  static constexpr int64_t kMaxGridX = 2147483647;
  static constexpr int64_t kMaxGridYZ = 65535;
};

/// All rows; the first is the default.
llvm::ArrayRef<Chip> allChips();

/// The row of a name, or null.
const Chip *findChip(llvm::StringRef name);

} // namespace pascaline
