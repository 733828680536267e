// Count.h - calls of the counting hooks; only modules that are translated for
// counting have any. See Counters.h for what blocks and slots are.
//
// Tests: test/emulator/Counter*Test.cpp.
#pragma once

#include "runtime/emulator/Counters.h"
#include "runtime/emulator/ptx/Syntax.h"

namespace llvm {
class CallInst;
class Value;
} // namespace llvm

namespace pascaline::emulator {

class Emitter;

// Which class of instructions one belongs to.
InstructionClass classOf(const ptx::Instruction &instruction);

// For one function of a kernel; adds its blocks to the kernel's plan.
class BlockCounter {
public:
  BlockCounter(Emitter &emitter, CountPlan &plan);

  // At the function's start, before the first instruction.
  void start();
  // Before the instruction and its guard.
  void before(size_t instruction);
  // An access to `pointer`, by the instruction that before() was called for.
  bool access(const ptx::Operand &operand, ptx::Space space, uint64_t bytes,
              llvm::Value *pointer);
  // Before the function's return.
  void leave();
  // Numbers the blocks.
  void finish();

private:
  struct Block {
    size_t first, last; // instructions [first, last)
    CountedBlock counted;
    std::vector<CountedSlot> slots;
  };
  void cutIntoBlocks();
  std::vector<uint32_t> successors(uint32_t block) const;
  std::vector<uint32_t> inOrder() const;
  uint32_t blockAt(size_t instruction) const;
  bool isLabelled() const; // the first block
  llvm::Value *place(size_t slot);

  Emitter &emitter;
  CountPlan &plan;
  std::vector<Block> blocks;
  uint32_t current = 0;
  const ptx::Instruction *instruction = nullptr;
  bool hasAccessed = false;    // this instruction
  llvm::Value *lane = nullptr; // its slot 0
  struct Arrival {
    llvm::CallInst *call;
    uint32_t block;
  };
  std::vector<Arrival> arrivals;
};

} // namespace pascaline::emulator
