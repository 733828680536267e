// Branches, calls and ends.
#include "runtime/emulator/translate/Emitter.h"
#include "runtime/emulator/translate/Families.h"

namespace pascaline::emulator {

using llvm::BasicBlock;
using llvm::Value;

bool emitBranch(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  modifiers.take("uni");
  if (!modifiers.done(1))
    return false;
  const Operand &target = instruction.operands[0];
  if (!target.is(Operand::Kind::Label))
    return emitter.fail(instruction, "label '" + std::string(target.name) +
                                         "' is not defined");
  emitter.builder.CreateBr(emitter.labelBlock(target));
  emitter.startDeadBlock();
  return true;
}

// brx.idx: an index beyond the table ends the thread with a trap.
bool emitBranchIndexed(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  if (!modifiers.take("idx"))
    return modifiers.refuse("needs .idx");
  modifiers.take("uni");
  if (!modifiers.done(2))
    return false;
  const Operand &table = instruction.operands[1];
  if (!table.is(Operand::Kind::Table))
    return emitter.fail(instruction, "'" + std::string(table.name) +
                                         "' is no .branchtargets table");
  Value *index = emitter.read(instruction, instruction.operands[0], Type::U32);
  if (!index)
    return false;
  const auto &targets = emitter.function.branchTables[table.index].targets;
  BasicBlock *outside = emitter.newBlock();
  llvm::SwitchInst *branch =
      emitter.builder.CreateSwitch(index, outside, targets.size());
  for (uint32_t i = 0; i < targets.size(); ++i)
    branch->addCase(emitter.builder.getInt32(i),
                    emitter.labelBlock(targets[i]));
  emitter.startBlock(outside);
  emitter.noteLine(instruction);
  emitter.callHook("pascalineEmulatorTrap", {});
  emitter.leave(/*exits=*/true);
  emitter.startDeadBlock();
  return true;
}

// What an actual parameter is to the callee: a pointer to its bytes.
static Value *argumentPointer(Emitter &emitter, const Instruction &call,
                              const Operand &actual, Type type, uint64_t bytes,
                              bool copyIn) {
  if (actual.is(Operand::Kind::Variable)) {
    const ptx::Variable *variable = actual.variable;
    if (variable->space != Space::Param || variable->bytes < bytes ||
        actual.value) {
      emitter.fail(call, "'" + std::string(variable->name) +
                             "' cannot be passed for a parameter of " +
                             std::to_string(bytes) + " bytes");
      return nullptr;
    }
    return emitter.paramPointer(variable);
  }
  if (bytes != ptx::bytesOf(type)) {
    emitter.fail(call, "a parameter of " + std::to_string(bytes) +
                           " bytes needs a .param variable");
    return nullptr;
  }
  llvm::AllocaInst *slot = emitter.slot(emitter.llvmType(type));
  if (!copyIn)
    return slot;
  Value *value = emitter.read(call, actual, type);
  if (!value)
    return nullptr;
  emitter.builder.CreateStore(value, slot);
  return slot;
}

bool emitCall(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  modifiers.take("uni");
  if (!modifiers.done(1, 4))
    return false;
  const Operand *results = nullptr, *name = nullptr, *actuals = nullptr;
  for (const Operand &operand : instruction.operands)
    if (operand.is(Operand::Kind::Name) && !name)
      name = &operand;
    else if (operand.is(Operand::Kind::List) && !name && !results)
      results = &operand;
    else if (operand.is(Operand::Kind::List) && name && !actuals)
      actuals = &operand;
    else
      return modifiers.refuse("not of the form (results), name, (parameters)");
  if (!name)
    return modifiers.refuse("names no function");
  // The layout has checked that it is defined.
  const ptx::Function &callee = *emitter.source.functionsByName.at(name->name);
  size_t resultCount = results ? results->elements.size() : 0;
  size_t actualCount = actuals ? actuals->elements.size() : 0;
  if (resultCount != callee.results.size() ||
      actualCount != callee.params.size())
    return emitter.fail(instruction, "'" + std::string(callee.name) + "' has " +
                                         std::to_string(callee.params.size()) +
                                         " parameters and " +
                                         std::to_string(callee.results.size()) +
                                         " results, the call " +
                                         std::to_string(actualCount) + " and " +
                                         std::to_string(resultCount));
  std::vector<Value *> arguments{emitter.code->getArg(0)};
  auto add = [&](const Operand &actual, const ptx::Variable *formal,
                 uint32_t formalRegister, bool copyIn) {
    Type type = formal ? formal->type : callee.registers[formalRegister].type;
    uint64_t bytes = formal ? formal->bytes : ptx::bytesOf(type);
    arguments.push_back(
        argumentPointer(emitter, instruction, actual, type, bytes, copyIn));
    return arguments.back() != nullptr;
  };
  for (size_t i = 0; i < actualCount; ++i)
    if (!add(actuals->elements[i], callee.params[i], callee.paramRegisters[i],
             /*copyIn=*/true))
      return false;
  for (size_t i = 0; i < resultCount; ++i)
    if (!add(results->elements[i], callee.results[i], callee.resultRegisters[i],
             /*copyIn=*/false))
      return false;
  llvm::Function *code = emitter.module.getFunction(symbolOf(callee));
  Value *exited = emitter.builder.CreateCall(code, arguments);
  BasicBlock *gone = emitter.newBlock(), *next = emitter.newBlock();
  emitter.builder.CreateCondBr(exited, gone, next);
  emitter.startBlock(gone);
  emitter.leave(/*exits=*/true);
  emitter.startBlock(next);
  for (size_t i = 0; i < resultCount; ++i) {
    const Operand &actual = results->elements[i];
    if (actual.is(Operand::Kind::Variable))
      continue;
    Type type = callee.results[i]
                    ? callee.results[i]->type
                    : callee.registers[callee.resultRegisters[i]].type;
    Value *value = emitter.builder.CreateLoad(emitter.llvmType(type),
                                              arguments[1 + actualCount + i]);
    if (!emitter.write(instruction, actual, value, type))
      return false;
  }
  return true;
}

bool emitReturn(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  modifiers.take("uni");
  if (!modifiers.done(0))
    return false;
  emitter.leave(/*exits=*/false);
  emitter.startDeadBlock();
  return true;
}

bool emitExit(Emitter &emitter, const Instruction &instruction) {
  if (!Modifiers(emitter, instruction).done(0))
    return false;
  emitter.leave(/*exits=*/true);
  emitter.startDeadBlock();
  return true;
}

bool emitTrap(Emitter &emitter, const Instruction &instruction) {
  if (!Modifiers(emitter, instruction).done(0))
    return false;
  emitter.noteLine(instruction);
  emitter.callHook("pascalineEmulatorTrap", {});
  emitter.leave(/*exits=*/true);
  emitter.startDeadBlock();
  return true;
}

// Hints that change no value.
bool emitNothing(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  modifiers.take("mask");
  return modifiers.done(1);
}

} // namespace pascaline::emulator
