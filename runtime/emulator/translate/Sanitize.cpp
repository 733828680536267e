// Sanitize.cpp - calls of the sanitizer's hooks before accesses, barriers and
// fences. Only modules translated for it have any; see Kernel.h.
#include "runtime/emulator/translate/Emitter.h"

#include <algorithm>

namespace pascaline::emulator {

using llvm::Value;

static uint64_t packedAccess(const Instruction &at, uint64_t bytes) {
  uint64_t packed = at.line | bytes << 32;
  bool atomic = at.opcode == "atom" || at.opcode == "red";
  if (atomic || at.opcode == "st")
    packed |= kAccessStores;
  if (atomic)
    packed |= kAccessAtomic;
  if (atomic || at.has("volatile"))
    packed |= kAccessStrong;
  return packed;
}

// The address as the PTX computes it, before it is confined to a window; where
// it names a variable, the offset in the variable's space or the host address.
Value *Emitter::unconfinedAddress(const Instruction &at, const Operand &operand,
                                  Space &space, Value *pointer) {
  const Operand &base = operand.elements[0];
  llvm::Type *i64 = builder.getInt64Ty();
  if (base.is(Operand::Kind::Variable)) {
    const ptx::Variable *variable = base.variable;
    space = variable->space;
    if (space == Space::Shared || space == Space::Local)
      return builder.getInt64(layout.offsets.at(variable) + operand.value);
    return builder.CreatePtrToInt(pointer, i64);
  }
  bool narrow = base.is(Operand::Kind::Register) &&
                ptx::bitsOf(function.registers[base.index].type) == 32;
  Value *value = read(at, base, narrow ? Type::U32 : Type::U64);
  value = builder.CreateZExt(value, i64);
  if (space == Space::Shared)
    value = builder.CreateAnd(value, builder.getInt64(0xffffffff));
  return builder.CreateAdd(value, builder.getInt64(operand.value));
}

// `pointer` is what address() gave.
void Emitter::checkAccess(const Instruction &at, const Operand &operand,
                          Space space, uint64_t bytes, Value *pointer) {
  Value *access = builder.getInt64(packedAccess(at, bytes));
  Value *value = unconfinedAddress(at, operand, space, pointer);
  uint8_t shift = 0;
  while (uint64_t(2) << shift <= bytes)
    ++shift;
  bool generic = space == Space::Generic;
  if (generic || space == Space::Shared)
    sharedGranuleShift = std::min(sharedGranuleShift, shift);
  if (generic || space == Space::Global || space == Space::Const)
    globalGranuleShift = std::min(globalGranuleShift, shift);
  switch (space) {
  case Space::Shared:
    return callHook("pascalineEmulatorCheckShared", {value, access});
  case Space::Local:
    return callHook("pascalineEmulatorCheckLocal",
                    {value, builder.getInt64(layout.info.localBytes), access});
  case Space::Param:
    // By name they are checked when the module is loaded; a function's own
    // are slots on the host's stack, of which an address is only a number.
    if (!operand.elements[0].is(Operand::Kind::Variable) && function.isEntry)
      callHook("pascalineEmulatorCheckParam",
               {value, builder.getInt64(layout.info.paramBytes), access});
    return;
  default:
    return callHook("pascalineEmulatorCheckGlobal", {value, access});
  }
}

void Emitter::checkBarrier(const Instruction &at, Value *id, Value *count,
                           bool waits) {
  if (!layout.info.sanitized)
    return;
  callHook("pascalineEmulatorCheckBarrier",
           {id, count, builder.getInt32(at.line), builder.getInt32(waits)});
}

void Emitter::checkFence(bool beyondBlock) {
  if (layout.info.sanitized)
    callHook("pascalineEmulatorCheckFence", {builder.getInt32(beyondBlock)});
}

} // namespace pascaline::emulator
