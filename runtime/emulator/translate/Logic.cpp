// Logic and shifts.
#include "runtime/emulator/translate/Emitter.h"
#include "runtime/emulator/translate/Families.h"

namespace pascaline::emulator {

using llvm::Value;

namespace {

bool isLogicType(Type type) {
  return type == Type::Pred || type == Type::B16 || type == Type::B32 ||
         type == Type::B64;
}

} // namespace

bool emitLogic(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  Type type = modifiers.takeType();
  if (!isLogicType(type))
    return modifiers.refuse("needs .pred, .b16, .b32 or .b64");
  if (!modifiers.done(3))
    return false;
  Value *a = emitter.read(instruction, instruction.operands[1], type);
  Value *b =
      a ? emitter.read(instruction, instruction.operands[2], type) : nullptr;
  if (!b)
    return false;
  llvm::IRBuilder<> &builder = emitter.builder;
  Value *result = instruction.opcode == "and"  ? builder.CreateAnd(a, b)
                  : instruction.opcode == "or" ? builder.CreateOr(a, b)
                                               : builder.CreateXor(a, b);
  return emitter.write(instruction, instruction.operands[0], result, type);
}

bool emitNot(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  Type type = modifiers.takeType();
  if (!isLogicType(type))
    return modifiers.refuse("needs .pred, .b16, .b32 or .b64");
  if (!modifiers.done(2))
    return false;
  Value *a = emitter.read(instruction, instruction.operands[1], type);
  return a && emitter.write(instruction, instruction.operands[0],
                            emitter.builder.CreateNot(a), type);
}

bool emitLogicalNot(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  Type type = modifiers.takeType();
  if (!isLogicType(type) || type == Type::Pred)
    return modifiers.refuse("needs .b16, .b32 or .b64");
  if (!modifiers.done(2))
    return false;
  Value *a = emitter.read(instruction, instruction.operands[1], type);
  if (!a)
    return false;
  Value *isZero = emitter.builder.CreateICmpEQ(a, emitter.constant(type, 0));
  return emitter.write(instruction, instruction.operands[0],
                       emitter.builder.CreateZExt(isZero, a->getType()), type);
}

// Amounts at or above the width give zero, or copies of the sign.
bool emitShift(Emitter &emitter, const Instruction &instruction) {
  bool left = instruction.opcode == "shl";
  Modifiers modifiers(emitter, instruction);
  Type type = modifiers.takeType();
  unsigned size = ptx::bitsOf(type);
  if (!ptx::isInteger(type) || size < 16 || (left && !ptx::isBits(type)))
    return modifiers.refuse(left ? "needs .b16, .b32 or .b64"
                                 : "needs a 16-, 32- or 64-bit integer type");
  if (!modifiers.done(3))
    return false;
  Value *a = emitter.read(instruction, instruction.operands[1], type);
  Value *amount =
      a ? emitter.read(instruction, instruction.operands[2], Type::U32)
        : nullptr;
  if (!amount)
    return false;
  llvm::IRBuilder<> &builder = emitter.builder;
  Value *last = builder.getInt32(size - 1);
  Value *clamped =
      builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, amount, last);
  Value *shift = builder.CreateZExtOrTrunc(clamped, a->getType());
  Value *result = nullptr;
  if (ptx::isSigned(type)) {
    result = builder.CreateAShr(a, shift);
  } else {
    result = left ? builder.CreateShl(a, shift) : builder.CreateLShr(a, shift);
    result = builder.CreateSelect(builder.CreateICmpUGT(amount, last),
                                  emitter.constant(type, 0), result);
  }
  return emitter.write(instruction, instruction.operands[0], result, type);
}

// shf.l: the high word of {b, a} << n; shf.r: the low word of {b, a} >> n.
bool emitFunnelShift(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  int right = modifiers.takeOneOf({"l", "r"});
  int wrap = modifiers.takeOneOf({"clamp", "wrap"});
  if (right < 0 || wrap < 0 || modifiers.takeType() != Type::B32)
    return modifiers.refuse("needs .l or .r, .clamp or .wrap, and .b32");
  if (!modifiers.done(4))
    return false;
  Value *values[3];
  for (int i = 0; i < 3; ++i)
    if (!(values[i] = emitter.read(instruction, instruction.operands[1 + i],
                                   Type::B32)))
      return false;
  llvm::IRBuilder<> &builder = emitter.builder;
  llvm::Type *i64 = builder.getInt64Ty();
  Value *both = builder.CreateOr(
      builder.CreateShl(builder.CreateZExt(values[1], i64), 32),
      builder.CreateZExt(values[0], i64));
  Value *amount =
      wrap ? builder.CreateAnd(values[2], 31)
           : builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, values[2],
                                           builder.getInt32(32));
  amount = builder.CreateZExt(amount, i64);
  Value *shifted =
      right ? builder.CreateLShr(both, amount)
            : builder.CreateLShr(builder.CreateShl(both, amount), 32);
  return emitter.write(instruction, instruction.operands[0],
                       builder.CreateTrunc(shifted, builder.getInt32Ty()),
                       Type::B32);
}

// lop3: bit 4a + 2b + c of the table, for each position.
bool emitLogic3(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  if (modifiers.takeType() != Type::B32)
    return modifiers.refuse("needs .b32");
  if (!modifiers.done(5))
    return false;
  const Operand &table = instruction.operands[4];
  if (!table.is(Operand::Kind::Integer) || table.value < 0 || table.value > 255)
    return modifiers.refuse("the table is a number from 0 to 255");
  Value *values[3];
  for (int i = 0; i < 3; ++i)
    if (!(values[i] = emitter.read(instruction, instruction.operands[1 + i],
                                   Type::B32)))
      return false;
  llvm::IRBuilder<> &builder = emitter.builder;
  Value *result = builder.getInt32(0);
  for (unsigned term = 0; term < 8; ++term) {
    if (!(table.value >> term & 1))
      continue;
    Value *product = builder.getInt32(~0u);
    for (unsigned i = 0; i < 3; ++i)
      product = builder.CreateAnd(product, term >> (2 - i) & 1
                                               ? values[i]
                                               : builder.CreateNot(values[i]));
    result = builder.CreateOr(result, product);
  }
  return emitter.write(instruction, instruction.operands[0], result, Type::B32);
}

} // namespace pascaline::emulator
