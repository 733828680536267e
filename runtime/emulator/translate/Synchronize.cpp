// Barriers, shuffles and votes: calls of the scheduler's hooks.
#include "runtime/emulator/translate/Emitter.h"
#include "runtime/emulator/translate/Families.h"

namespace pascaline::emulator {

using llvm::Value;

namespace {

bool emitWarpBarrier(Emitter &emitter, const Instruction &instruction,
                     Modifiers &modifiers) {
  if (!modifiers.take("sync"))
    return modifiers.refuse("needs .sync");
  if (!modifiers.done(1))
    return false;
  Value *mask = emitter.read(instruction, instruction.operands[0], Type::B32);
  if (!mask)
    return false;
  emitter.willWait(instruction);
  emitter.callHook("pascalineEmulatorWarpSync", {mask});
  return true;
}

// The operation's number for a hook; see kWithoutSync.
Value *operationCode(Emitter &emitter, uint32_t operation, bool sync) {
  return emitter.builder.getInt32(sync ? operation : operation | kWithoutSync);
}

} // namespace

bool emitBarrier(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  if (modifiers.take("warp"))
    return emitWarpBarrier(emitter, instruction, modifiers);
  modifiers.take("cta");
  int kind = modifiers.takeOneOf({"sync", "arrive", "red"});
  if (instruction.opcode == "barrier")
    modifiers.take("aligned");
  int reduction = kind == 2 ? modifiers.takeOneOf({"popc", "and", "or"}) : -1;
  Type type = kind == 2 ? modifiers.takeType() : Type::None;
  if (kind < 0)
    return modifiers.refuse("needs .sync, .arrive or .red");
  if (kind == 2 &&
      (reduction < 0 || type != (reduction == 0 ? Type::U32 : Type::Pred)))
    return modifiers.refuse("needs .popc.u32, .and.pred or .or.pred");
  size_t first = kind == 2 ? 1 : 0; // operand of the barrier's number
  size_t predicates = kind == 2 ? 1 : 0;
  if (!modifiers.done(first + 1 + predicates + (kind == 1 ? 1 : 0),
                      first + 2 + predicates))
    return false;
  const auto &operands = instruction.operands;
  Value *id = emitter.read(instruction, operands[first], Type::U32);
  Value *count = emitter.builder.getInt32(0);
  if (id && operands.size() > first + 1 + predicates)
    count = emitter.read(instruction, operands[first + 1], Type::U32);
  if (!id || !count)
    return false;
  id = emitter.builder.CreateAnd(id, 15);
  emitter.willWait(instruction);
  emitter.checkBarrier(instruction, id, count, kind != 1);
  if (kind == 0) {
    emitter.callHook("pascalineEmulatorBarrier", {id, count});
    return true;
  }
  if (kind == 1) {
    emitter.callHook("pascalineEmulatorBarrierArrive", {id, count});
    return true;
  }
  Value *predicate = emitter.read(instruction, operands.back(), Type::Pred);
  if (!predicate)
    return false;
  llvm::Type *i32 = emitter.builder.getInt32Ty();
  Value *result =
      emitter.callHook("pascalineEmulatorBarrierReduce", i32,
                       {id, count, emitter.builder.getInt32(reduction),
                        emitter.builder.CreateZExt(predicate, i32)});
  if (type == Type::Pred)
    result = emitter.builder.CreateICmpNE(result, emitter.builder.getInt32(0));
  return emitter.write(instruction, operands[0], result, type);
}

// shfl{.sync}.mode.b32 d|p, a, b, c{, mask}
bool emitShuffle(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  bool sync = modifiers.take("sync");
  int mode = modifiers.takeOneOf({"up", "down", "bfly", "idx"});
  if (mode < 0 || modifiers.takeType() != Type::B32)
    return modifiers.refuse("needs .up, .down, .bfly or .idx, and .b32");
  if (!modifiers.done(sync ? 5 : 4))
    return false;
  llvm::IRBuilder<> &builder = emitter.builder;
  Value *values[4] = {nullptr, nullptr, nullptr, builder.getInt32(~0u)};
  for (size_t i = 0; i < (sync ? 4u : 3u); ++i)
    if (!(values[i] = emitter.read(instruction, instruction.operands[1 + i],
                                   Type::B32)))
      return false;
  emitter.willWait(instruction);
  Value *both =
      emitter.callHook("pascalineEmulatorShuffle", builder.getInt64Ty(),
                       {operationCode(emitter, mode, sync), values[0],
                        values[1], values[2], values[3]});
  Value *value = builder.CreateTrunc(both, builder.getInt32Ty());
  const Operand &to = instruction.operands[0];
  if (!to.is(Operand::Kind::Pair))
    return emitter.write(instruction, to, value, Type::B32);
  Value *inRange =
      builder.CreateTrunc(builder.CreateLShr(both, 32), builder.getInt1Ty());
  return emitter.write(instruction, to.elements[0], value, Type::B32) &&
         emitter.write(instruction, to.elements[1], inRange, Type::Pred);
}

bool emitVote(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  bool sync = modifiers.take("sync");
  int operation = modifiers.takeOneOf({"all", "any", "uni", "ballot"});
  Type type = modifiers.takeType();
  if (operation < 0 || type != (operation == 3 ? Type::B32 : Type::Pred))
    return modifiers.refuse("needs .all, .any or .uni and .pred, or "
                            ".ballot.b32");
  if (!modifiers.done(sync ? 3 : 2))
    return false;
  llvm::IRBuilder<> &builder = emitter.builder;
  Value *predicate =
      emitter.read(instruction, instruction.operands[1], Type::Pred);
  Value *mask = builder.getInt32(~0u);
  if (predicate && sync)
    mask = emitter.read(instruction, instruction.operands[2], Type::B32);
  if (!predicate || !mask)
    return false;
  emitter.willWait(instruction);
  Value *result = emitter.callHook(
      "pascalineEmulatorVote", builder.getInt32Ty(),
      {operationCode(emitter, operation, sync),
       builder.CreateZExt(predicate, builder.getInt32Ty()), mask});
  if (type == Type::Pred)
    result = builder.CreateICmpNE(result, builder.getInt32(0));
  return emitter.write(instruction, instruction.operands[0], result, type);
}

// A vote of the lanes on the same branch, as scheduling understands it.
bool emitActiveMask(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  if (modifiers.takeType() != Type::B32)
    return modifiers.refuse("needs .b32");
  if (!modifiers.done(1))
    return false;
  llvm::IRBuilder<> &builder = emitter.builder;
  emitter.willWait(instruction);
  Value *result =
      emitter.callHook("pascalineEmulatorVote", builder.getInt32Ty(),
                       {operationCode(emitter, 3, false), builder.getInt32(1),
                        builder.getInt32(~0u)});
  return emitter.write(instruction, instruction.operands[0], result, Type::B32);
}

} // namespace pascaline::emulator
