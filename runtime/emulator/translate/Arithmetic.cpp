// Instructions that exist for integers and floats alike.
#include "runtime/emulator/translate/Families.h"
#include "runtime/emulator/translate/FloatSupport.h"
#include "runtime/emulator/translate/IntegerSupport.h"

namespace pascaline::emulator {

using llvm::Value;

bool isIntegerOperand(Type type) {
  return (ptx::isSigned(type) || ptx::isUnsigned(type)) &&
         ptx::bitsOf(type) >= 16;
}

bool isFloatOperand(Type type) {
  return type == Type::F16 || type == Type::F16x2 || type == Type::F32 ||
         type == Type::F64;
}

FloatMode takeFloatMode(Modifiers &modifiers) {
  FloatMode mode;
  int rounding = modifiers.takeOneOf({"rn", "rz", "rm", "rp"});
  mode.explicitRounding = rounding >= 0;
  mode.rounding = rounding < 0 ? kNearest : rounding;
  mode.flush = modifiers.take("ftz");
  mode.saturate = modifiers.take("sat");
  return mode;
}

bool checkFloatMode(Modifiers &modifiers, Type type, const FloatMode &mode) {
  return type != Type::F64 || (!mode.flush && !mode.saturate) ||
         modifiers.refuse(".f64 has no .ftz and no .sat");
}

Value *saturate(Emitter &emitter, Value *value) {
  llvm::Type *type = value->getType();
  Value *zero = llvm::ConstantFP::get(type, 0.0);
  Value *one = llvm::ConstantFP::get(type, 1.0);
  Value *positive = emitter.builder.CreateFCmpOGT(value, zero);
  Value *below = emitter.builder.CreateFCmpOLT(value, one);
  return emitter.builder.CreateSelect(
      positive, emitter.builder.CreateSelect(below, value, one), zero);
}

Value *finish(Emitter &emitter, Value *value, const FloatMode &mode) {
  if (mode.flush)
    value = emitter.flush(value);
  return mode.saturate ? saturate(emitter, value) : value;
}

Value *directed(Emitter &emitter, const Instruction &at, const char *operation,
                llvm::ArrayRef<Value *> arguments, int rounding) {
  llvm::Type *type = arguments[0]->getType();
  if (!type->isFloatTy() && !type->isDoubleTy()) {
    emitter.fail(at,
                 "'" + at.fullName() + "': only .rn is defined for this type");
    return nullptr;
  }
  std::vector<Value *> all(arguments.begin(), arguments.end());
  all.push_back(emitter.builder.getInt32(rounding));
  std::string name = std::string("pascalineEmulator") + operation +
                     (type->isFloatTy() ? "32" : "64");
  return emitter.callHost(name.c_str(), type, all, /*pure=*/true);
}

Value *fusedMultiplyAdd(Emitter &emitter, Value *a, Value *b, Value *c) {
  llvm::Type *type = a->getType();
  if (!type->getScalarType()->isHalfTy())
    return emitter.call(llvm::Intrinsic::fma, type, {a, b, c});
  // Exact in double: 22 bits of product, and a sum that spans fewer than 53
  // bits wherever the last half rounding could see the difference.
  llvm::Type *wide = type->getWithNewType(emitter.builder.getDoubleTy());
  Value *sum = emitter.call(llvm::Intrinsic::fma, wide,
                            {emitter.builder.CreateFPExt(a, wide),
                             emitter.builder.CreateFPExt(b, wide),
                             emitter.builder.CreateFPExt(c, wide)});
  if (!type->isVectorTy())
    return doubleToHalf(emitter, sum, kNearest);
  Value *result = llvm::PoisonValue::get(type);
  for (uint64_t i = 0; i < 2; ++i)
    result = emitter.builder.CreateInsertElement(
        result,
        doubleToHalf(emitter, emitter.builder.CreateExtractElement(sum, i),
                     kNearest),
        i);
  return result;
}

Value *readFloat(Emitter &emitter, const Instruction &at, size_t operand,
                 Type type, const FloatMode &mode) {
  Value *value = emitter.read(at, at.operands[operand], type);
  return value && mode.flush ? emitter.flush(value) : value;
}

bool emitAddSubtract(Emitter &emitter, const Instruction &instruction) {
  bool subtract = instruction.opcode == "sub";
  Modifiers modifiers(emitter, instruction);
  Type type = modifiers.takeType();
  llvm::IRBuilder<> &builder = emitter.builder;
  if (isIntegerOperand(type)) {
    bool saturating = modifiers.take("sat");
    bool carry = modifiers.take("cc");
    if (!modifiers.done(3))
      return false;
    if (saturating && type != Type::S32)
      return modifiers.refuse(".sat needs .s32");
    if (carry && (saturating || ptx::bitsOf(type) < 32))
      return modifiers.refuse(".cc needs 32 or 64 bits and no .sat");
    Value *a = emitter.read(instruction, instruction.operands[1], type);
    Value *b =
        a ? emitter.read(instruction, instruction.operands[2], type) : nullptr;
    if (!b)
      return false;
    Value *result = nullptr;
    if (saturating)
      result = builder.CreateBinaryIntrinsic(
          subtract ? llvm::Intrinsic::ssub_sat : llvm::Intrinsic::sadd_sat, a,
          b);
    else if (carry)
      result = addWithCarry(emitter, a, b, builder.getFalse(), subtract);
    else
      result = subtract ? builder.CreateSub(a, b) : builder.CreateAdd(a, b);
    return emitter.write(instruction, instruction.operands[0], result, type);
  }
  FloatMode mode = takeFloatMode(modifiers);
  if (!isFloatOperand(type))
    return modifiers.refuse("not defined for this type");
  if (!checkFloatMode(modifiers, type, mode) || !modifiers.done(3))
    return false;
  Value *a = readFloat(emitter, instruction, 1, type, mode);
  Value *b = a ? readFloat(emitter, instruction, 2, type, mode) : nullptr;
  if (!b)
    return false;
  Value *result = nullptr;
  if (mode.rounding == kNearest)
    result = subtract ? builder.CreateFSub(a, b) : builder.CreateFAdd(a, b);
  else
    result = directed(emitter, instruction, "Add",
                      {a, subtract ? builder.CreateFNeg(b) : b}, mode.rounding);
  return result && emitter.write(instruction, instruction.operands[0],
                                 finish(emitter, result, mode), type);
}

bool emitMultiply(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  Type type = modifiers.takeType();
  if (isIntegerOperand(type)) {
    Part part = takePart(modifiers);
    if (!modifiers.done(3))
      return false;
    Value *a = emitter.read(instruction, instruction.operands[1], type);
    Value *b =
        a ? emitter.read(instruction, instruction.operands[2], type) : nullptr;
    if (!b)
      return false;
    Type resultType = part == Part::Wide ? widened(type) : type;
    if (resultType == Type::None || part == Part::None)
      return modifiers.refuse("needs .lo, .hi or .wide that fits the type");
    return emitter.write(instruction, instruction.operands[0],
                         multiply(emitter, a, b, type, part), resultType);
  }
  FloatMode mode = takeFloatMode(modifiers);
  if (!isFloatOperand(type))
    return modifiers.refuse("not defined for this type");
  if (!checkFloatMode(modifiers, type, mode) || !modifiers.done(3))
    return false;
  Value *a = readFloat(emitter, instruction, 1, type, mode);
  Value *b = a ? readFloat(emitter, instruction, 2, type, mode) : nullptr;
  if (!b)
    return false;
  Value *result =
      mode.rounding == kNearest
          ? emitter.builder.CreateFMul(a, b)
          : directed(emitter, instruction, "Multiply", {a, b}, mode.rounding);
  return result && emitter.write(instruction, instruction.operands[0],
                                 finish(emitter, result, mode), type);
}

bool emitMultiplyAdd(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  Type type = modifiers.takeType();
  if (isIntegerOperand(type) && instruction.opcode == "mad")
    return emitIntegerMultiplyAdd(emitter, instruction, modifiers, type,
                                  /*addCarry=*/false);
  FloatMode mode = takeFloatMode(modifiers);
  bool narrow = type == Type::F16 || type == Type::F16x2;
  if (!isFloatOperand(type) || (narrow && instruction.opcode == "mad"))
    return modifiers.refuse("not defined for this type");
  if (!mode.explicitRounding)
    return modifiers.refuse("needs .rn, .rz, .rm or .rp");
  if (!checkFloatMode(modifiers, type, mode) || !modifiers.done(4))
    return false;
  Value *a = readFloat(emitter, instruction, 1, type, mode);
  Value *b = a ? readFloat(emitter, instruction, 2, type, mode) : nullptr;
  Value *c = b ? readFloat(emitter, instruction, 3, type, mode) : nullptr;
  if (!c)
    return false;
  Value *result = mode.rounding == kNearest
                      ? fusedMultiplyAdd(emitter, a, b, c)
                      : directed(emitter, instruction, "MultiplyAdd", {a, b, c},
                                 mode.rounding);
  return result && emitter.write(instruction, instruction.operands[0],
                                 finish(emitter, result, mode), type);
}

// div.approx multiplies by a reciprocal whose subnormal values are zero: for
// divisors above 2^126 the result is zero, or NaN for infinite dividends.
static Value *approximateQuotient(Emitter &emitter, Value *a, Value *b) {
  llvm::IRBuilder<> &builder = emitter.builder;
  llvm::Type *type = a->getType();
  Value *magnitude = emitter.call(llvm::Intrinsic::fabs, type, {b});
  Value *large = builder.CreateAnd(
      builder.CreateFCmpOGT(magnitude, llvm::ConstantFP::get(type, 0x1p126)),
      builder.CreateFCmpOLT(magnitude, llvm::ConstantFP::getInfinity(type)));
  Value *zero = builder.CreateBinaryIntrinsic(
      llvm::Intrinsic::copysign, llvm::ConstantFP::get(type, 0.0), b);
  return builder.CreateSelect(large, builder.CreateFMul(a, zero),
                              builder.CreateFDiv(a, b));
}

bool emitDivide(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  Type type = modifiers.takeType();
  if (isIntegerOperand(type)) {
    if (!modifiers.done(3))
      return false;
    Value *a = emitter.read(instruction, instruction.operands[1], type);
    Value *b =
        a ? emitter.read(instruction, instruction.operands[2], type) : nullptr;
    return b && emitter.write(instruction, instruction.operands[0],
                              divide(emitter, a, b, ptx::isSigned(type),
                                     /*remainder=*/false),
                              type);
  }
  bool approximate = modifiers.take("approx"), full = modifiers.take("full");
  FloatMode mode = takeFloatMode(modifiers);
  if (type != Type::F32 && type != Type::F64)
    return modifiers.refuse("not defined for this type");
  if ((approximate || full) && type != Type::F32)
    return modifiers.refuse(".approx and .full are for .f32");
  if (approximate + full + mode.explicitRounding != 1)
    return modifiers.refuse("needs .approx, .full or one rounding mode");
  if (mode.saturate)
    return modifiers.refuse(".sat is not defined here");
  if (!checkFloatMode(modifiers, type, mode) || !modifiers.done(3))
    return false;
  Value *a = readFloat(emitter, instruction, 1, type, mode);
  Value *b = a ? readFloat(emitter, instruction, 2, type, mode) : nullptr;
  if (!b)
    return false;
  Value *result = nullptr;
  if (approximate)
    result = approximateQuotient(emitter, a, b);
  else if (full || mode.rounding == kNearest)
    result = emitter.builder.CreateFDiv(a, b);
  else
    result = directed(emitter, instruction, "Divide", {a, b}, mode.rounding);
  return result && emitter.write(instruction, instruction.operands[0],
                                 finish(emitter, result, mode), type);
}

bool emitAbsoluteNegate(Emitter &emitter, const Instruction &instruction) {
  bool negate = instruction.opcode == "neg";
  Modifiers modifiers(emitter, instruction);
  Type type = modifiers.takeType();
  llvm::IRBuilder<> &builder = emitter.builder;
  if (isIntegerOperand(type)) {
    if (!modifiers.done(2))
      return false;
    if (!ptx::isSigned(type))
      return modifiers.refuse("needs a signed type");
    Value *a = emitter.read(instruction, instruction.operands[1], type);
    if (!a)
      return false;
    Value *result = negate ? builder.CreateNeg(a)
                           : builder.CreateBinaryIntrinsic(
                                 llvm::Intrinsic::abs, a, builder.getFalse());
    return emitter.write(instruction, instruction.operands[0], result, type);
  }
  FloatMode mode;
  mode.flush = modifiers.take("ftz");
  if (!isFloatOperand(type))
    return modifiers.refuse("not defined for this type");
  if (!checkFloatMode(modifiers, type, mode) || !modifiers.done(2))
    return false;
  Value *a = readFloat(emitter, instruction, 1, type, mode);
  if (!a)
    return false;
  Value *result = negate
                      ? builder.CreateFNeg(a)
                      : emitter.call(llvm::Intrinsic::fabs, a->getType(), {a});
  return emitter.write(instruction, instruction.operands[0], result, type);
}

// A NaN gives way to the other operand; -0 is below +0.
static Value *floatMinMax(Emitter &emitter, Value *a, Value *b, bool minimum) {
  llvm::IRBuilder<> &builder = emitter.builder;
  Value *result = builder.CreateBinaryIntrinsic(
      minimum ? llvm::Intrinsic::minimum : llvm::Intrinsic::maximum, a, b);
  result = builder.CreateSelect(builder.CreateFCmpUNO(b, b), a, result);
  return builder.CreateSelect(builder.CreateFCmpUNO(a, a), b, result);
}

bool emitMinMax(Emitter &emitter, const Instruction &instruction) {
  bool minimum = instruction.opcode == "min";
  Modifiers modifiers(emitter, instruction);
  Type type = modifiers.takeType();
  FloatMode mode;
  if (type == Type::F32)
    mode.flush = modifiers.take("ftz");
  else if (!isIntegerOperand(type) && type != Type::F64)
    return modifiers.refuse("not defined for this type");
  if (!modifiers.done(3))
    return false;
  Value *a = readFloat(emitter, instruction, 1, type, mode);
  Value *b = a ? readFloat(emitter, instruction, 2, type, mode) : nullptr;
  if (!b)
    return false;
  Value *result = nullptr;
  if (ptx::isFloat(type))
    result = floatMinMax(emitter, a, b, minimum);
  else if (ptx::isSigned(type))
    result = emitter.builder.CreateBinaryIntrinsic(
        minimum ? llvm::Intrinsic::smin : llvm::Intrinsic::smax, a, b);
  else
    result = emitter.builder.CreateBinaryIntrinsic(
        minimum ? llvm::Intrinsic::umin : llvm::Intrinsic::umax, a, b);
  return emitter.write(instruction, instruction.operands[0], result, type);
}

} // namespace pascaline::emulator
