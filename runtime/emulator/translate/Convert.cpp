// cvt between any two of the scalar types of sm_61.
#include "runtime/emulator/translate/Families.h"
#include "runtime/emulator/translate/FloatSupport.h"

namespace pascaline::emulator {

using llvm::Value;

namespace {

struct Conversion {
  Emitter &emitter;
  const Instruction &instruction;
  Type to, from;
  int integerRounding; // as Rounding; -1: none
  FloatMode mode;

  Value *run(Value *value);

private:
  Value *integerToInteger(Value *value);
  Value *integerToFloat(Value *value);
  Value *floatToInteger(Value *value);
  Value *floatToFloat(Value *value);
  Value *roundToInteger(Value *value);
};

bool isConvertible(Type type) {
  return ptx::isSigned(type) || ptx::isUnsigned(type) || type == Type::F16 ||
         type == Type::F32 || type == Type::F64;
}

// Every value of integer type `from` is one of integer type `to`.
bool holdsAll(Type to, Type from) {
  if (ptx::isSigned(to) == ptx::isSigned(from))
    return ptx::bitsOf(to) >= ptx::bitsOf(from);
  return ptx::isSigned(to) && ptx::bitsOf(to) > ptx::bitsOf(from);
}

Value *Conversion::integerToInteger(Value *value) {
  llvm::IRBuilder<> &builder = emitter.builder;
  unsigned toSize = ptx::bitsOf(to), fromSize = ptx::bitsOf(from);
  bool fromSigned = ptx::isSigned(from), toSigned = ptx::isSigned(to);
  llvm::Type *toType = emitter.llvmType(to);
  if (!mode.saturate)
    return fromSigned ? builder.CreateSExtOrTrunc(value, toType)
                      : builder.CreateZExtOrTrunc(value, toType);
  // Twice the larger width holds both ranges.
  unsigned size = 2 * std::max(toSize, fromSize);
  llvm::Type *wide = builder.getIntNTy(size);
  value = fromSigned ? builder.CreateSExt(value, wide)
                     : builder.CreateZExt(value, wide);
  llvm::APInt most = toSigned ? llvm::APInt::getSignedMaxValue(toSize)
                              : llvm::APInt::getMaxValue(toSize);
  llvm::APInt least = toSigned ? llvm::APInt::getSignedMinValue(toSize)
                               : llvm::APInt::getMinValue(toSize);
  value = builder.CreateBinaryIntrinsic(
      llvm::Intrinsic::smin, value,
      llvm::ConstantInt::get(wide, most.zext(size)));
  value = builder.CreateBinaryIntrinsic(
      llvm::Intrinsic::smax, value,
      llvm::ConstantInt::get(wide,
                             toSigned ? least.sext(size) : least.zext(size)));
  return builder.CreateTrunc(value, toType);
}

Value *Conversion::integerToFloat(Value *value) {
  llvm::IRBuilder<> &builder = emitter.builder;
  bool isSigned = ptx::isSigned(from);
  llvm::Type *i64 = builder.getInt64Ty();
  if (to == Type::F16) {
    // Exact in double wherever the half is finite.
    value = isSigned ? builder.CreateSIToFP(value, builder.getDoubleTy())
                     : builder.CreateUIToFP(value, builder.getDoubleTy());
    value = doubleToHalf(emitter, value, mode.rounding);
  } else if (mode.rounding == kNearest) {
    value = isSigned ? builder.CreateSIToFP(value, emitter.llvmType(to))
                     : builder.CreateUIToFP(value, emitter.llvmType(to));
  } else {
    value = isSigned ? builder.CreateSExt(value, i64)
                     : builder.CreateZExt(value, i64);
    std::string name = std::string("pascalineEmulator") +
                       (isSigned ? "Signed" : "Unsigned") +
                       (to == Type::F32 ? "To32" : "To64");
    value = emitter.callHost(name.c_str(), emitter.llvmType(to),
                             {value, builder.getInt32(mode.rounding)},
                             /*pure=*/true);
  }
  return mode.saturate ? saturate(emitter, value) : value;
}

Value *Conversion::roundToInteger(Value *value) {
  static constexpr llvm::Intrinsic::ID ids[] = {
      llvm::Intrinsic::roundeven, llvm::Intrinsic::trunc,
      llvm::Intrinsic::floor, llvm::Intrinsic::ceil};
  return emitter.builder.CreateUnaryIntrinsic(ids[integerRounding], value);
}

// Saturates always. NaN: zero, but the least signed number (or its bits) where
// 64 bits are on either side.
Value *Conversion::floatToInteger(Value *value) {
  llvm::IRBuilder<> &builder = emitter.builder;
  if (from == Type::F16)
    value = builder.CreateFPExt(value, builder.getFloatTy());
  Value *rounded = roundToInteger(value);
  llvm::Type *type = emitter.llvmType(to);
  Value *result =
      builder.CreateIntrinsic(ptx::isSigned(to) ? llvm::Intrinsic::fptosi_sat
                                                : llvm::Intrinsic::fptoui_sat,
                              {type, rounded->getType()}, {rounded});
  if (from != Type::F64 && ptx::bitsOf(to) != 64)
    return result;
  Value *least = llvm::ConstantInt::get(
      type, llvm::APInt::getSignedMinValue(ptx::bitsOf(to)));
  return builder.CreateSelect(builder.CreateFCmpUNO(value, value), least,
                              result);
}

Value *Conversion::floatToFloat(Value *value) {
  llvm::IRBuilder<> &builder = emitter.builder;
  unsigned toSize = ptx::bitsOf(to), fromSize = ptx::bitsOf(from);
  if (toSize == fromSize) {
    if (integerRounding >= 0)
      value = roundToInteger(value);
  } else if (toSize > fromSize) {
    value = builder.CreateFPExt(value, emitter.llvmType(to));
  } else if (to == Type::F16 &&
             (from == Type::F64 || mode.rounding != kNearest)) {
    value =
        doubleToHalf(emitter, builder.CreateFPExt(value, builder.getDoubleTy()),
                     mode.rounding);
  } else if (mode.rounding == kNearest) {
    value = builder.CreateFPTrunc(value, emitter.llvmType(to));
  } else {
    value = emitter.callHost("pascalineEmulatorNarrow", builder.getFloatTy(),
                             {value, builder.getInt32(mode.rounding)},
                             /*pure=*/true);
  }
  if (mode.flush && to == Type::F32)
    value = emitter.flush(value);
  return mode.saturate ? saturate(emitter, value) : value;
}

Value *Conversion::run(Value *value) {
  if (mode.flush && from == Type::F32)
    value = emitter.flush(value);
  if (ptx::isFloat(from))
    return ptx::isFloat(to) ? floatToFloat(value) : floatToInteger(value);
  return ptx::isFloat(to) ? integerToFloat(value) : integerToInteger(value);
}

} // namespace

Value *doubleToHalf(Emitter &emitter, Value *value, int rounding) {
  llvm::IRBuilder<> &builder = emitter.builder;
  Value *bits = emitter.callHost("pascalineEmulatorHalf", builder.getInt16Ty(),
                                 {value, builder.getInt32(rounding)},
                                 /*pure=*/true);
  return builder.CreateBitCast(bits, builder.getHalfTy());
}

bool emitConvert(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  int integerRounding = modifiers.takeOneOf({"rni", "rzi", "rmi", "rpi"});
  FloatMode mode = takeFloatMode(modifiers);
  Type to = modifiers.takeType(), from = modifiers.takeType();
  if (!isConvertible(to) || !isConvertible(from))
    return modifiers.refuse("not defined for these types on sm_61");
  bool fromFloat = ptx::isFloat(from), toFloat = ptx::isFloat(to);
  bool narrowing = fromFloat && toFloat && ptx::bitsOf(to) < ptx::bitsOf(from);
  if ((narrowing || (!fromFloat && toFloat)) && !mode.explicitRounding)
    return modifiers.refuse("needs .rn, .rz, .rm or .rp");
  if (fromFloat && !toFloat && integerRounding < 0)
    return modifiers.refuse("needs .rni, .rzi, .rmi or .rpi");
  if (integerRounding >= 0 &&
      (!fromFloat || (toFloat && ptx::bitsOf(to) != ptx::bitsOf(from))))
    return modifiers.refuse(
        "integer rounding is for conversion to integers or the same type");
  if (mode.explicitRounding && !narrowing && !(!fromFloat && toFloat))
    return modifiers.refuse("a conversion that is exact takes no rounding");
  if (mode.saturate && !fromFloat && !toFloat && holdsAll(to, from))
    return modifiers.refuse(".sat is for types that do not hold every value");
  if (mode.flush && from != Type::F32 && to != Type::F32)
    return modifiers.refuse(".ftz needs .f32");
  if (!modifiers.done(2))
    return false;
  Value *value = emitter.read(instruction, instruction.operands[1], from,
                              /*wide=*/true);
  if (!value)
    return false;
  Conversion conversion{emitter, instruction, to, from, integerRounding, mode};
  return emitter.write(instruction, instruction.operands[0],
                       conversion.run(value), to, /*wide=*/true);
}

} // namespace pascaline::emulator
