// tex.1d from linear memory: an integer coordinate, no filter.
#include "runtime/emulator/translate/Emitter.h"
#include "runtime/emulator/translate/Families.h"

namespace pascaline::emulator {

using llvm::Value;

// The handle: in a register, or in a .texref variable.
static Value *textureHandle(Emitter &emitter, const Instruction &instruction,
                            const Operand &base) {
  llvm::IRBuilder<> &builder = emitter.builder;
  if (!base.is(Operand::Kind::Variable))
    return emitter.read(instruction, base, Type::B64);
  const ptx::Variable *variable = base.variable;
  if (!variable->isTexture || variable->bytes != 8) {
    emitter.fail(instruction,
                 "'" + std::string(variable->name) + "' is no .texref");
    return nullptr;
  }
  llvm::Type *i64 = builder.getInt64Ty();
  return builder.CreateAlignedLoad(
      i64,
      emitter.module.getOrInsertGlobal(
          symbolOf(*variable), llvm::ArrayType::get(builder.getInt8Ty(), 0)),
      llvm::Align(8));
}

// tex.1d.v4.dtype.s32 {d, e, f, g}, [texture, {x}]
bool emitTexture(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  if (!modifiers.take("1d"))
    return emitter.unsupported(
        instruction, "'" + instruction.fullName() +
                         "' is not supported; the emulator has tex.1d only");
  bool four = modifiers.take("v4");
  Type type = modifiers.takeType(), coordinate = modifiers.takeType();
  if (!four || (type != Type::F32 && type != Type::S32 && type != Type::U32))
    return modifiers.refuse("needs .v4 and .f32, .s32 or .u32");
  if (coordinate == Type::F32)
    return emitter.unsupported(
        instruction, "'" + instruction.fullName() +
                         "' is not supported; linear memory has coordinates "
                         "of type .s32");
  if (coordinate != Type::S32)
    return modifiers.refuse("needs a coordinate of type .s32");
  if (!modifiers.done(2))
    return false;
  const Operand &to = instruction.operands[0], &from = instruction.operands[1];
  if (!to.is(Operand::Kind::Vector) || to.elements.size() != 4)
    return modifiers.refuse("needs four registers in braces");
  const Operand *x = from.elements.size() == 2 ? &from.elements[1] : nullptr;
  if (x && x->is(Operand::Kind::Vector))
    x = x->elements.size() == 1 ? &x->elements[0] : nullptr;
  if (!from.is(Operand::Kind::Address) || from.value || !x)
    return modifiers.refuse("needs [texture, {x}]");
  Value *handle = textureHandle(emitter, instruction, from.elements[0]);
  Value *at = handle ? emitter.read(instruction, *x, Type::S32) : nullptr;
  if (!at)
    return false;
  llvm::IRBuilder<> &builder = emitter.builder;
  llvm::Type *word = builder.getInt32Ty();
  llvm::AllocaInst *result = emitter.slot(llvm::ArrayType::get(word, 4));
  emitter.callHook("pascalineEmulatorTexture",
                   {handle, at, builder.getInt32(instruction.line), result});
  for (unsigned i = 0; i < 4; ++i) {
    Value *channel = builder.CreateLoad(
        word,
        builder.CreateConstGEP2_32(result->getAllocatedType(), result, 0, i));
    if (!emitter.write(instruction, to.elements[i], emitter.as(channel, type),
                       type))
      return false;
  }
  return true;
}

} // namespace pascaline::emulator
