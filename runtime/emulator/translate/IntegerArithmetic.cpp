// Integer arithmetic: products, quotients, carries, dot products.
#include "runtime/emulator/translate/Families.h"
#include "runtime/emulator/translate/FloatSupport.h" // isIntegerOperand
#include "runtime/emulator/translate/IntegerSupport.h"
#include "runtime/emulator/translate/TileVectorizer.h"

namespace pascaline::emulator {

using llvm::Value;

Part takePart(Modifiers &modifiers) {
  switch (modifiers.takeOneOf({"lo", "hi", "wide"})) {
  case 0:
    return Part::Low;
  case 1:
    return Part::High;
  case 2:
    return Part::Wide;
  default:
    return Part::None;
  }
}

Type widened(Type type) {
  switch (type) {
  case Type::U16:
    return Type::U32;
  case Type::S16:
    return Type::S32;
  case Type::U32:
    return Type::U64;
  case Type::S32:
    return Type::S64;
  default:
    return Type::None;
  }
}

Value *multiply(Emitter &emitter, Value *a, Value *b, Type type, Part part) {
  llvm::IRBuilder<> &builder = emitter.builder;
  if (part == Part::Low)
    return builder.CreateMul(a, b);
  unsigned size = ptx::bitsOf(type);
  llvm::Type *wide = builder.getIntNTy(2 * size);
  auto extend = [&](Value *value) {
    return ptx::isSigned(type) ? builder.CreateSExt(value, wide)
                               : builder.CreateZExt(value, wide);
  };
  Value *product = builder.CreateMul(extend(a), extend(b));
  if (part == Part::Wide)
    return product;
  return builder.CreateTrunc(builder.CreateLShr(product, size), a->getType());
}

Value *divide(Emitter &emitter, Value *a, Value *b, bool isSigned,
              bool remainder) {
  llvm::IRBuilder<> &builder = emitter.builder;
  llvm::Type *type = a->getType();
  unsigned size = type->getIntegerBitWidth();
  Value *zero = llvm::ConstantInt::get(type, 0);
  Value *minusOne = llvm::ConstantInt::getSigned(type, -1);
  Value *byZero = builder.CreateICmpEQ(b, zero);
  Value *unsafe = byZero;
  if (isSigned) {
    Value *least =
        llvm::ConstantInt::get(type, llvm::APInt::getSignedMinValue(size));
    unsafe = builder.CreateOr(
        byZero, builder.CreateAnd(builder.CreateICmpEQ(a, least),
                                  builder.CreateICmpEQ(b, minusOne)));
  }
  Value *divisor =
      builder.CreateSelect(unsafe, llvm::ConstantInt::get(type, 1), b);
  if (remainder) {
    Value *rest = isSigned ? builder.CreateSRem(a, divisor)
                           : builder.CreateURem(a, divisor);
    return builder.CreateSelect(byZero, a, rest);
  }
  Value *quotient = isSigned ? builder.CreateSDiv(a, divisor)
                             : builder.CreateUDiv(a, divisor);
  return builder.CreateSelect(byZero, minusOne, quotient);
}

Value *addWithCarry(Emitter &emitter, Value *a, Value *b, Value *carryIn,
                    bool subtract) {
  llvm::IRBuilder<> &builder = emitter.builder;
  llvm::Intrinsic::ID id = subtract ? llvm::Intrinsic::usub_with_overflow
                                    : llvm::Intrinsic::uadd_with_overflow;
  Value *first = builder.CreateBinaryIntrinsic(id, a, b);
  Value *second =
      builder.CreateBinaryIntrinsic(id, builder.CreateExtractValue(first, 0),
                                    builder.CreateZExt(carryIn, a->getType()));
  builder.CreateStore(builder.CreateOr(builder.CreateExtractValue(first, 1),
                                       builder.CreateExtractValue(second, 1)),
                      emitter.carry());
  return builder.CreateExtractValue(second, 0);
}

// addc, subc: with .cc they write the carry, without they leave it.
bool emitAddCarry(Emitter &emitter, const Instruction &instruction) {
  bool subtract = instruction.opcode == "subc";
  Modifiers modifiers(emitter, instruction);
  Type type = modifiers.takeType();
  bool writes = modifiers.take("cc");
  if (!isIntegerOperand(type) || ptx::bitsOf(type) < 32)
    return modifiers.refuse("needs a 32-bit or 64-bit integer type");
  if (!modifiers.done(3))
    return false;
  Value *a = emitter.read(instruction, instruction.operands[1], type);
  Value *b =
      a ? emitter.read(instruction, instruction.operands[2], type) : nullptr;
  if (!b)
    return false;
  llvm::IRBuilder<> &builder = emitter.builder;
  Value *before = builder.CreateLoad(builder.getInt1Ty(), emitter.carry());
  Value *result = addWithCarry(emitter, a, b, before, subtract);
  if (!writes)
    builder.CreateStore(before, emitter.carry());
  return emitter.write(instruction, instruction.operands[0], result, type);
}

bool emitIntegerMultiplyAdd(Emitter &emitter, const Instruction &instruction,
                            Modifiers &modifiers, Type type, bool addCarry) {
  Part part = takePart(modifiers);
  bool saturating = modifiers.take("sat");
  bool carry = modifiers.take("cc");
  if (!isIntegerOperand(type))
    return modifiers.refuse("not defined for this type");
  if (!modifiers.done(4))
    return false;
  Type resultType = part == Part::Wide ? widened(type) : type;
  if (resultType == Type::None || part == Part::None)
    return modifiers.refuse("needs .lo, .hi or .wide that fits the type");
  if (saturating && (part != Part::High || type != Type::S32))
    return modifiers.refuse(".sat needs .hi.s32");
  if ((carry || addCarry) &&
      (part == Part::Wide || ptx::bitsOf(type) < 32 || saturating))
    return modifiers.refuse("carry needs .lo or .hi of 32 or 64 bits");
  Value *a = emitter.read(instruction, instruction.operands[1], type);
  Value *b =
      a ? emitter.read(instruction, instruction.operands[2], type) : nullptr;
  Value *c = b ? emitter.read(instruction, instruction.operands[3], resultType)
               : nullptr;
  if (!c)
    return false;
  llvm::IRBuilder<> &builder = emitter.builder;
  Value *product = multiply(emitter, a, b, type, part);
  Value *result = nullptr;
  if (saturating) {
    result =
        builder.CreateBinaryIntrinsic(llvm::Intrinsic::sadd_sat, product, c);
  } else if (carry || addCarry) {
    Value *before = builder.CreateLoad(builder.getInt1Ty(), emitter.carry());
    result = addWithCarry(emitter, product, c,
                          addCarry ? before : builder.getFalse(),
                          /*subtract=*/false);
    if (!carry)
      builder.CreateStore(before, emitter.carry());
  } else {
    result = builder.CreateAdd(product, c);
  }
  return emitter.write(instruction, instruction.operands[0], result,
                       resultType);
}

bool emitMultiplyAddCarry(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  Type type = modifiers.takeType();
  return emitIntegerMultiplyAdd(emitter, instruction, modifiers, type,
                                /*addCarry=*/true);
}

// mul24, mad24: 24-bit factors; .lo is the low, .hi the high 32 of 48 bits.
bool emitMultiply24(Emitter &emitter, const Instruction &instruction) {
  bool add = instruction.opcode == "mad24";
  Modifiers modifiers(emitter, instruction);
  Type type = modifiers.takeType();
  Part part = takePart(modifiers);
  bool saturating = add && modifiers.take("sat");
  if ((type != Type::U32 && type != Type::S32) ||
      (part != Part::Low && part != Part::High))
    return modifiers.refuse("needs .lo or .hi and .u32 or .s32");
  if (saturating && (part != Part::High || type != Type::S32))
    return modifiers.refuse(".sat needs .hi.s32");
  if (!modifiers.done(add ? 4 : 3))
    return false;
  llvm::IRBuilder<> &builder = emitter.builder;
  Value *factors[2];
  for (int i = 0; i < 2; ++i) {
    Value *value = emitter.read(instruction, instruction.operands[1 + i], type);
    if (!value)
      return false;
    value = builder.CreateShl(value, 8);
    value = ptx::isSigned(type) ? builder.CreateAShr(value, 8)
                                : builder.CreateLShr(value, 8);
    factors[i] = ptx::isSigned(type)
                     ? builder.CreateSExt(value, builder.getInt64Ty())
                     : builder.CreateZExt(value, builder.getInt64Ty());
  }
  Value *product = builder.CreateMul(factors[0], factors[1]);
  if (part == Part::High)
    product = builder.CreateLShr(product, 16);
  product = builder.CreateTrunc(product, builder.getInt32Ty());
  if (add) {
    Value *c = emitter.read(instruction, instruction.operands[3], type);
    if (!c)
      return false;
    product = saturating ? builder.CreateBinaryIntrinsic(
                               llvm::Intrinsic::sadd_sat, product, c)
                         : builder.CreateAdd(product, c);
  }
  return emitter.write(instruction, instruction.operands[0], product, type);
}

bool emitSumOfAbsoluteDifferences(Emitter &emitter,
                                  const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  Type type = modifiers.takeType();
  if (!isIntegerOperand(type))
    return modifiers.refuse("not defined for this type");
  if (!modifiers.done(4))
    return false;
  Value *values[3];
  for (int i = 0; i < 3; ++i)
    if (!(values[i] =
              emitter.read(instruction, instruction.operands[1 + i], type)))
      return false;
  llvm::IRBuilder<> &builder = emitter.builder;
  bool isSigned = ptx::isSigned(type);
  Value *high = builder.CreateBinaryIntrinsic(isSigned ? llvm::Intrinsic::smax
                                                       : llvm::Intrinsic::umax,
                                              values[0], values[1]);
  Value *low = builder.CreateBinaryIntrinsic(isSigned ? llvm::Intrinsic::smin
                                                      : llvm::Intrinsic::umin,
                                             values[0], values[1]);
  return emitter.write(
      instruction, instruction.operands[0],
      builder.CreateAdd(builder.CreateSub(high, low), values[2]), type);
}

bool emitRemainder(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  Type type = modifiers.takeType();
  if (!isIntegerOperand(type))
    return modifiers.refuse("not defined for this type");
  if (!modifiers.done(3))
    return false;
  Value *a = emitter.read(instruction, instruction.operands[1], type);
  Value *b =
      a ? emitter.read(instruction, instruction.operands[2], type) : nullptr;
  return b &&
         emitter.write(instruction, instruction.operands[0],
                       divide(emitter, a, b, ptx::isSigned(type), true), type);
}

// dp4a: four products of bytes; dp2a: of two 16-bit halves of a with the low
// or high two bytes of b.
bool emitDotProduct(Emitter &emitter, const Instruction &instruction) {
  bool four = instruction.opcode == "dp4a";
  Modifiers modifiers(emitter, instruction);
  bool high = false;
  if (!four) {
    int half = modifiers.takeOneOf({"lo", "hi"});
    if (half < 0)
      return modifiers.refuse("needs .lo or .hi");
    high = half == 1;
  }
  Type aType = modifiers.takeType(), bType = modifiers.takeType();
  auto fits = [](Type type) { return type == Type::U32 || type == Type::S32; };
  if (!fits(aType) || !fits(bType))
    return modifiers.refuse("needs two types, each .u32 or .s32");
  if (!modifiers.done(4))
    return false;
  llvm::IRBuilder<> &builder = emitter.builder;
  Value *a = emitter.read(instruction, instruction.operands[1], aType);
  Value *b =
      a ? emitter.read(instruction, instruction.operands[2], bType) : nullptr;
  Value *c = b ? emitter.read(instruction, instruction.operands[3], Type::S32)
               : nullptr;
  if (!c)
    return false;
  if (four) {
    std::string name = kDotProductPrefix;
    name += ptx::isSigned(aType) ? 's' : 'u';
    name += ptx::isSigned(bType) ? 's' : 'u';
    Value *sum = emitter.callHost(name.c_str(), builder.getInt32Ty(), {a, b, c},
                                  /*pure=*/true);
    return emitter.write(instruction, instruction.operands[0], sum, Type::S32);
  }
  auto field = [&](Value *value, unsigned low, unsigned width, Type type) {
    value = builder.CreateShl(value, 32 - low - width);
    return ptx::isSigned(type) ? builder.CreateAShr(value, 32 - width)
                               : builder.CreateLShr(value, 32 - width);
  };
  Value *sum = c;
  for (unsigned i = 0; i < 2; ++i) {
    Value *left = field(a, 16 * i, 16, aType);
    Value *right = field(b, 8 * (i + (high ? 2 : 0)), 8, bType);
    sum = builder.CreateAdd(sum, builder.CreateMul(left, right));
  }
  return emitter.write(instruction, instruction.operands[0], sum, Type::S32);
}

} // namespace pascaline::emulator
