// Counters.h - what translation tells scheduling so that it can count.
//
// Code that is translated for counting runs a warp in lockstep, as sm_61 does.
// PTX is cut into blocks that all active lanes execute alike; before each but
// the kernel's first a lane calls pascalineEmulatorCountBlock, which returns
// when it is the turn of the lane's group: lanes at the same place go on
// together, and of several places the first one goes first. Blocks are numbered
// so that a block's number is lower than those of the blocks that come after it
// when every loop has ended; so lanes that have parted meet again at the first
// block that both sides reach, and lanes that have left a loop wait for those
// still in it.
//
// A block issues the same instructions each time, so executions of blocks are
// counted and not instructions. What differs between lanes, an access's address
// or a guard predicate, is left in a slot, one a lane, which is evaluated when
// the last lane has ended the block. A block has at most kMaxSlots slots, so
// memory is bounded whatever a kernel does.
//
// Tests: test/emulator/Counter*Test.cpp; what each counter means is said in
// docs/emulator.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pascaline::emulator {

// X(name): a class of PTX instructions; docs/emulator.md says which are in it.
#define PASCALINE_INSTRUCTION_CLASSES(X)                                       \
  X(fp32_add)                                                                  \
  X(fp32_mul)                                                                  \
  X(fp32_fma)                                                                  \
  X(fp32_minmax)                                                               \
  X(fp32_div)                                                                  \
  X(sfu)                                                                       \
  X(fp64)                                                                      \
  X(fp16)                                                                      \
  X(int_add)                                                                   \
  X(int_mul)                                                                   \
  X(int_div)                                                                   \
  X(int_logic)                                                                 \
  X(int_shift)                                                                 \
  X(int_bits)                                                                  \
  X(dot)                                                                       \
  X(convert)                                                                   \
  X(compare)                                                                   \
  X(select)                                                                    \
  X(move)                                                                      \
  X(branch)                                                                    \
  X(control)                                                                   \
  X(barrier)                                                                   \
  X(shuffle)                                                                   \
  X(vote)                                                                      \
  X(fence)                                                                     \
  X(load_global)                                                               \
  X(load_shared)                                                               \
  X(load_local)                                                                \
  X(load_const)                                                                \
  X(load_param)                                                                \
  X(load_generic)                                                              \
  X(store_global)                                                              \
  X(store_shared)                                                              \
  X(store_local)                                                               \
  X(store_param)                                                               \
  X(store_generic)                                                             \
  X(atomic_global)                                                             \
  X(atomic_shared)                                                             \
  X(atomic_generic)                                                            \
  X(prefetch)                                                                  \
  X(texture)

enum class InstructionClass : uint8_t {
#define PASCALINE_ENUMERATE(name) name,
  PASCALINE_INSTRUCTION_CLASSES(PASCALINE_ENUMERATE)
#undef PASCALINE_ENUMERATE
      kCount
};
inline constexpr size_t kInstructionClasses = size_t(InstructionClass::kCount);

enum class CountedSpace : uint8_t { Global, Shared, Local, Const, Generic };
enum class CountedAccess : uint8_t { Load, Store, Atomic };

inline constexpr uint32_t kMaxSlots = 64;
inline constexpr uint32_t kWarpLanes = 32;
// In the slot of an access that the lane's guard predicate has turned off.
inline constexpr uint64_t kNotAccessed = ~uint64_t(0);

struct CountedSlot {
  InstructionClass instruction;
  bool guarded;  // by a predicate
  bool accesses; // the slot holds a host address; else the guard, 0 or 1
  CountedSpace space;
  CountedAccess access;
  uint8_t bytes; // a lane
};

struct CountedBlock {
  uint32_t firstSlot = 0; // in CountPlan::slots, which hold their own index
  uint32_t slotCount = 0; //   within the block's as their place
  bool branches = false;  // ends in a branch that has a choice
  // Issued each time the block is executed; unguarded: by all active lanes.
  std::array<uint32_t, kInstructionClasses> issued{}, unguarded{};
};

// A kernel and the functions that it calls.
struct CountPlan {
  static constexpr uint32_t kNoBlock = ~0u;
  uint32_t entry = kNoBlock; // where lanes start; none: by CountBlock
  std::vector<CountedBlock> blocks;
  std::vector<CountedSlot> slots;
};

} // namespace pascaline::emulator
