// Emitter.h - one PTX function on its way to LLVM IR.
//
// What every instruction family needs: the builder, registers and operands as
// values of a PTX type, addresses as host pointers, errors with their line. The
// families (FloatArithmetic.cpp, Memory.cpp, ...) are free functions over it,
// listed in Opcodes.cpp. Registers are stack slots; LLVM promotes them.
//
// Generated code must stay inside the windows of Kernel.h whatever the PTX
// says, so nothing here may be undefined behaviour that LLVM could turn into a
// wild jump or access: slots start at zero, shifts are clamped, division is
// guarded. Tests: test/emulator/Translate*Test.cpp.
#pragma once

#include "runtime/emulator/ptx/Diagnostic.h"
#include "runtime/emulator/translate/Count.h"
#include "runtime/emulator/translate/Layout.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

#include <map>

namespace pascaline::emulator {

using ptx::Instruction;
using ptx::Operand;
using ptx::Space;
using ptx::Type;

struct AccessGroup; // AccessGroups.h

class Emitter {
public:
  Emitter(const ptx::Module &source, const KernelLayout &layout,
          const ptx::Function &function, llvm::Function *code,
          Diagnostic &diagnostic, CountPlan *counted);

  bool run();

  bool fail(const Instruction &at, std::string text) {
    return diagnostic.fail(ErrorKind::InvalidPtx, at.line, std::move(text));
  }
  bool unsupported(const Instruction &at, std::string text) {
    return diagnostic.fail(ErrorKind::Unsupported, at.line, std::move(text));
  }

  // LLVM's type for values of a PTX type: iN for .b/.u/.s and .bf16, i1 for
  // .pred, half, <2 x half>, float, double.
  llvm::Type *llvmType(Type type);
  llvm::Value *bits(llvm::Value *value);             // as an integer
  llvm::Value *as(llvm::Value *value, Type type);    // bitcast from any
  llvm::Value *constant(Type type, uint64_t value) { // integer types
    return llvm::ConstantInt::get(llvmType(type), value);
  }

  // The value of an operand; null after an error. A register must have the
  // type's size, or with `wide` at least that (ld, st, cvt truncate).
  llvm::Value *read(const Instruction &at, const Operand &operand, Type type,
                    bool wide = false);
  // Stores to a register operand; `_` is allowed. With `wide` the register may
  // be larger: the value is extended as its type says.
  bool write(const Instruction &at, const Operand &operand, llvm::Value *value,
             Type type, bool wide = false);

  // The host pointer of an address operand in a space.
  llvm::Value *address(const Instruction &at, const Operand &operand,
                       Space space, uint64_t accessBytes);
  // Before a hook that may wait: ThreadState::line says where.
  void willWait(const Instruction &at);
  void noteLine(const Instruction &at);
  // What the sanitizer wants to know; nothing is emitted in a plain module.
  void checkBarrier(const Instruction &at, llvm::Value *id, llvm::Value *count,
                    bool waits);
  void checkFence(bool beyondBlock);
  // What mov gives for a variable: its offset or address in its own space.
  llvm::Value *variableAddress(const Instruction &at, const Operand &operand);
  // An address of a space as a generic one, and back.
  llvm::Value *toGeneric(llvm::Value *address, Space space);
  llvm::Value *fromGeneric(llvm::Value *address, Space space);

  llvm::Value *special(const Instruction &at, std::string_view name);
  llvm::Value *globalBase() { return field("global base", 0); }
  llvm::Value *sharedBase() { return field("shared base", 8); }
  llvm::Value *localBase() { return field("local base", 16); }
  llvm::Value *paramBase() { return field("params", 24); }

  llvm::Value *call(llvm::Intrinsic::ID id, llvm::Type *type,
                    llvm::ArrayRef<llvm::Value *> arguments) {
    return builder.CreateIntrinsic(id, {type}, arguments);
  }
  // A function of the host, by name: a hook of Kernel.h or a helper of
  // HostFunctions.h. Pure ones depend on their arguments alone.
  llvm::Value *callHost(const char *name, llvm::Type *result,
                        llvm::ArrayRef<llvm::Value *> arguments,
                        bool pure = false);
  void callHook(const char *name, llvm::ArrayRef<llvm::Value *> arguments);
  llvm::Value *callHook(const char *name, llvm::Type *result,
                        llvm::ArrayRef<llvm::Value *> arguments);

  // Subnormal inputs and results of .ftz become zeros of their sign.
  llvm::Value *flush(llvm::Value *value);

  llvm::BasicBlock *newBlock() {
    return llvm::BasicBlock::Create(context, "", code);
  }
  llvm::BasicBlock *labelBlock(const Operand &label) {
    return labelBlocks[label.index];
  }
  // Ends the block with a return; `exits` ends the thread too.
  void leave(bool exits);
  // Code after a branch or return goes into a block that nothing reaches
  // unless a label follows.
  void startDeadBlock() { startBlock(newBlock()); }
  void startBlock(llvm::BasicBlock *block) { builder.SetInsertPoint(block); }
  // A slot at function entry that starts as zero.
  llvm::AllocaInst *slot(llvm::Type *type);
  llvm::Value *carry(); // the slot of CC.CF
  llvm::Value *paramPointer(const ptx::Variable *variable);

  const ptx::Module &source;
  const KernelLayout &layout;
  const ptx::Function &function;
  llvm::LLVMContext &context;
  llvm::Module &module;
  llvm::Function *code;
  llvm::IRBuilder<> builder;
  Diagnostic &diagnostic;
  bool switches = false; // a hook that may wait was called

private:
  llvm::Value *field(const char *name, uint64_t offset);
  llvm::Value *entryLoad(llvm::Type *type, uint64_t offset, const char *name,
                         uint64_t below);
  llvm::Value *immediate(const Instruction &at, const Operand &operand,
                         Type type);
  llvm::Value *confinedAddress(const Instruction &at, const Operand &operand,
                               Space space, uint64_t accessBytes);
  llvm::Value *unconfinedBase(const Instruction &at, const Operand &operand,
                              Space &space, llvm::Value *pointer);
  void checkAccess(const Instruction &at, const Operand &operand, Space space,
                   uint64_t bytes, llvm::Value *pointer);
  void checkOffset(const Instruction &at, const char *hook, llvm::Value *offset,
                   uint64_t bytes, uint64_t limit);
  void checkSettled(const AccessGroup &group, llvm::Value *base,
                    llvm::BasicBlock *slow);
  void continueIf(llvm::Value *fine, llvm::BasicBlock *slow);
  llvm::Value *kernelParamAddress(llvm::Value *value, uint64_t accessBytes);
  llvm::Value *functionParamAddress(llvm::Value *value, uint64_t accessBytes);
  void findAddressedParams();
  llvm::AllocaInst *registerSlot(uint32_t number);
  void chooseRegisterTypes();
  void bindParams();
  bool emit(const Instruction &instruction);

  std::unique_ptr<BlockCounter> counter; // null: code that does not count
  llvm::BasicBlock *entry;
  llvm::Instruction *entryEnd; // slots and entry loads go before it
  std::vector<llvm::AllocaInst *> registerSlots;
  std::vector<bool> floatRegisters; // held as float or double
  std::vector<llvm::BasicBlock *> labelBlocks;
  std::map<std::string, llvm::Value *, std::less<>> entryValues;
  std::unordered_map<const ptx::Variable *, llvm::Value *> paramPointers;
  std::vector<const ptx::Variable *> addressedParams; // of a device function
  llvm::AllocaInst *carrySlot = nullptr;
  std::vector<bool> checked; // instructions that an earlier check covers
};

// Reads an instruction's modifiers and sees that each has a meaning.
class Modifiers {
public:
  Modifiers(Emitter &emitter, const Instruction &instruction)
      : emitter(emitter), instruction(instruction) {}

  bool take(std::string_view modifier);
  // The first of `choices` that is there, else `fallback`.
  int takeOneOf(std::initializer_list<std::string_view> choices,
                int fallback = -1);
  Type takeType(); // the next type not taken yet; None
  // All taken, and the number of operands right? Else the error is reported.
  bool done(size_t operands) { return done(operands, operands); }
  bool done(size_t least, size_t most);
  bool refuse(std::string_view why); // "... is not valid for add.s8"

private:
  Emitter &emitter;
  const Instruction &instruction;
  uint32_t taken = 0;
};

// One row of the table of instructions.
struct Opcode {
  std::string_view name;
  bool (*emit)(Emitter &, const Instruction &);
};
const Opcode *findOpcode(std::string_view name);

// The name in LLVM IR and in the linker of a module's variable or function.
std::string symbolOf(const ptx::Variable &variable);
std::string symbolOf(const ptx::Function &function);

} // namespace pascaline::emulator
