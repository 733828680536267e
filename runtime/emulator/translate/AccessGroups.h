// AccessGroups.h - which accesses of a function the sanitizer checks at once.
//
// A check before each access is a call in the middle of the arithmetic, a
// dozen times a plain run. Accesses to base + constant on a straight line of
// code, from one register that nothing changes between, are therefore checked
// together before the first of them. That changes no verdict: a group holds
// loads alone or stores alone, and ends where the thread may not come to the
// next one, where it may be ordered after another thread, and where it accesses
// the same memory the other way.
// Test: test/emulator/AccessGroupsTest.cpp.
#pragma once

#include "runtime/emulator/Kernel.h"
#include "runtime/emulator/ptx/Syntax.h"

#include <vector>

namespace pascaline::emulator {

// An instruction's access to memory, as far as the sanitizer cares.
struct MemoryAccess {
  enum class Kind { None, Load, Store, Atomic };
  Kind kind = Kind::None;
  ptx::Space space = ptx::Space::Generic; // as the instruction says
  bool strong = false; // atomic, volatile or with an order: orders threads
  uint32_t bytes = 0;
  const ptx::Operand *address = nullptr;

  static MemoryAccess of(const ptx::Instruction &instruction);
};

struct AccessGroup {
  struct Member {
    const ptx::Instruction *instruction;
    int64_t displacement; // from the base register or variable
    uint32_t bytes;
  };
  std::vector<Member> members;

  // The group that instruction `first` of the body begins.
  static AccessGroup startingAt(const ptx::Function &function, size_t first);
};

// As the Check hooks take it.
uint64_t packedAccess(const ptx::Instruction &at, uint64_t bytes);

// Fills in what KernelInfo says for the sanitizer.
void noteAccesses(const ptx::Function &function, KernelInfo &info);

} // namespace pascaline::emulator
