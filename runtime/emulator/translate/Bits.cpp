// Bit fields, bytes and counts.
#include "runtime/emulator/translate/Emitter.h"
#include "runtime/emulator/translate/Families.h"

namespace pascaline::emulator {

using llvm::Value;

// prmt: four bytes chosen from the eight of {b, a}; bit 3 of a choice copies
// the byte's sign instead.
bool emitPermute(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  Type type = modifiers.takeType();
  int mode = modifiers.takeOneOf({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  if (type != Type::B32)
    return modifiers.refuse("needs .b32");
  if (!modifiers.done(4))
    return false;
  Value *values[3];
  for (int i = 0; i < 3; ++i)
    if (!(values[i] = emitter.read(instruction, instruction.operands[1 + i],
                                   Type::B32)))
      return false;
  llvm::IRBuilder<> &builder = emitter.builder;
  llvm::Type *i64 = builder.getInt64Ty(), *i32 = builder.getInt32Ty();
  Value *both = builder.CreateOr(
      builder.CreateShl(builder.CreateZExt(values[1], i64), 32),
      builder.CreateZExt(values[0], i64));
  // For each mode, value of c's low two bits and result byte: the source byte.
  static constexpr uint8_t modes[6][4][4] = {
      {{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}}, // f4e
      {{0, 7, 6, 5}, {1, 0, 7, 6}, {2, 1, 0, 7}, {3, 2, 1, 0}}, // b4e
      {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}, // rc8
      {{0, 1, 2, 3}, {1, 1, 2, 3}, {2, 2, 2, 3}, {3, 3, 3, 3}}, // ecl
      {{0, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 2, 2}, {0, 1, 2, 3}}, // ecr
      {{0, 1, 0, 1}, {2, 3, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}}, // rc16
  };
  Value *result = builder.getInt32(0);
  for (unsigned byte = 0; byte < 4; ++byte) {
    Value *choice = nullptr;
    if (mode < 0) {
      choice = builder.CreateAnd(builder.CreateLShr(values[2], 4 * byte), 15);
    } else {
      uint32_t packed = 0; // a table of four choices, a byte each
      for (unsigned low = 0; low < 4; ++low)
        packed |= uint32_t(modes[mode][low][byte]) << (8 * low);
      Value *low = builder.CreateAnd(values[2], 3);
      choice = builder.CreateAnd(builder.CreateLShr(builder.getInt32(packed),
                                                    builder.CreateShl(low, 3)),
                                 15);
    }
    Value *position = builder.CreateZExt(
        builder.CreateShl(builder.CreateAnd(choice, 7), 3), i64);
    Value *chosen = builder.CreateTrunc(builder.CreateLShr(both, position),
                                        builder.getInt8Ty());
    Value *sign = builder.CreateAShr(chosen, 7);
    Value *copies =
        builder.CreateICmpNE(builder.CreateAnd(choice, 8), builder.getInt32(0));
    Value *picked =
        builder.CreateZExt(builder.CreateSelect(copies, sign, chosen), i32);
    result = builder.CreateOr(result, builder.CreateShl(picked, 8 * byte));
  }
  return emitter.write(instruction, instruction.operands[0], result, Type::B32);
}

// bfe d, a, position, length: both taken modulo 256; bits beyond the top of a
// are its sign (or zero).
bool emitExtract(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  Type type = modifiers.takeType();
  unsigned size = ptx::bitsOf(type);
  bool isSigned = ptx::isSigned(type);
  if ((!isSigned && !ptx::isUnsigned(type)) || size < 32)
    return modifiers.refuse("needs .u32, .u64, .s32 or .s64");
  if (!modifiers.done(4))
    return false;
  Value *a = emitter.read(instruction, instruction.operands[1], type);
  Value *position =
      a ? emitter.read(instruction, instruction.operands[2], Type::U32)
        : nullptr;
  Value *length =
      position ? emitter.read(instruction, instruction.operands[3], Type::U32)
               : nullptr;
  if (!length)
    return false;
  llvm::IRBuilder<> &builder = emitter.builder;
  // In twice the width, no shift below is out of range: at most 255 is
  // clamped to the size, and size + size is handled by two steps.
  llvm::Type *wide = builder.getIntNTy(2 * size);
  auto clamp = [&](Value *value) {
    value = builder.CreateAnd(value, 255);
    value = builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, value,
                                          builder.getInt32(size));
    return builder.CreateZExt(value, wide);
  };
  Value *field =
      isSigned ? builder.CreateSExt(a, wide) : builder.CreateZExt(a, wide);
  Value *count = clamp(length);
  field = isSigned ? builder.CreateAShr(field, clamp(position))
                   : builder.CreateLShr(field, clamp(position));
  // Keep `count` bits: push the rest out at the top and come back.
  Value *room =
      builder.CreateSub(llvm::ConstantInt::get(wide, 2 * size), count);
  Value *empty = builder.CreateICmpEQ(count, llvm::ConstantInt::get(wide, 0));
  room = builder.CreateSelect(empty, llvm::ConstantInt::get(wide, 0), room);
  field = builder.CreateShl(field, room);
  field = isSigned ? builder.CreateAShr(field, room)
                   : builder.CreateLShr(field, room);
  field = builder.CreateTrunc(field, a->getType());
  field = builder.CreateSelect(empty, emitter.constant(type, 0), field);
  return emitter.write(instruction, instruction.operands[0], field, type);
}

// bfi f, a, b, position, length: the low bits of a into b.
bool emitInsert(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  Type type = modifiers.takeType();
  unsigned size = ptx::bitsOf(type);
  if (type != Type::B32 && type != Type::B64)
    return modifiers.refuse("needs .b32 or .b64");
  if (!modifiers.done(5))
    return false;
  Value *a = emitter.read(instruction, instruction.operands[1], type);
  Value *b =
      a ? emitter.read(instruction, instruction.operands[2], type) : nullptr;
  Value *position =
      b ? emitter.read(instruction, instruction.operands[3], Type::U32)
        : nullptr;
  Value *length =
      position ? emitter.read(instruction, instruction.operands[4], Type::U32)
               : nullptr;
  if (!length)
    return false;
  llvm::IRBuilder<> &builder = emitter.builder;
  llvm::Type *wide = builder.getIntNTy(2 * size);
  auto clamp = [&](Value *value) {
    value = builder.CreateAnd(value, 255);
    value = builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, value,
                                          builder.getInt32(size));
    return builder.CreateZExt(value, wide);
  };
  Value *one = llvm::ConstantInt::get(wide, 1);
  Value *at = clamp(position);
  Value *mask = builder.CreateSub(builder.CreateShl(one, clamp(length)), one);
  Value *field = builder.CreateShl(
      builder.CreateAnd(builder.CreateZExt(a, wide), mask), at);
  mask = builder.CreateTrunc(builder.CreateShl(mask, at), b->getType());
  Value *result =
      builder.CreateOr(builder.CreateAnd(b, builder.CreateNot(mask)),
                       builder.CreateTrunc(field, b->getType()));
  return emitter.write(instruction, instruction.operands[0], result, type);
}

// bfind: the position of the highest bit that differs from the sign, or ~0;
// .shiftamt gives the shift that brings it to the top.
bool emitFind(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  bool shiftAmount = modifiers.take("shiftamt");
  Type type = modifiers.takeType();
  unsigned size = ptx::bitsOf(type);
  if ((!ptx::isSigned(type) && !ptx::isUnsigned(type)) || size < 32)
    return modifiers.refuse("needs .u32, .u64, .s32 or .s64");
  if (!modifiers.done(2))
    return false;
  Value *a = emitter.read(instruction, instruction.operands[1], type);
  if (!a)
    return false;
  llvm::IRBuilder<> &builder = emitter.builder;
  if (ptx::isSigned(type))
    a = builder.CreateXor(a, builder.CreateAShr(a, size - 1));
  Value *leading = builder.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, a,
                                                 builder.getFalse());
  leading = builder.CreateTrunc(leading, builder.getInt32Ty());
  Value *result = shiftAmount
                      ? leading
                      : builder.CreateSub(builder.getInt32(size - 1), leading);
  Value *none = builder.CreateICmpEQ(a, emitter.constant(type, 0));
  return emitter.write(
      instruction, instruction.operands[0],
      builder.CreateSelect(none, builder.getInt32(~0u), result), Type::U32);
}

bool emitReverse(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  Type type = modifiers.takeType();
  if (type != Type::B32 && type != Type::B64)
    return modifiers.refuse("needs .b32 or .b64");
  if (!modifiers.done(2))
    return false;
  Value *a = emitter.read(instruction, instruction.operands[1], type);
  return a && emitter.write(instruction, instruction.operands[0],
                            emitter.builder.CreateUnaryIntrinsic(
                                llvm::Intrinsic::bitreverse, a),
                            type);
}

bool emitCount(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  Type type = modifiers.takeType();
  if (type != Type::B32 && type != Type::B64)
    return modifiers.refuse("needs .b32 or .b64");
  if (!modifiers.done(2))
    return false;
  Value *a = emitter.read(instruction, instruction.operands[1], type);
  if (!a)
    return false;
  llvm::IRBuilder<> &builder = emitter.builder;
  Value *count = instruction.opcode == "popc"
                     ? builder.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, a)
                     : builder.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, a,
                                                     builder.getFalse());
  return emitter.write(instruction, instruction.operands[0],
                       builder.CreateTrunc(count, builder.getInt32Ty()),
                       Type::U32);
}

} // namespace pascaline::emulator
