// Reciprocals, roots and transcendental functions.
//
// Results of .approx are at least as close as the ISA states: most are exact
// to rounding of the host's libm. Special values follow the ISA's tables.
#include "runtime/emulator/translate/Families.h"
#include "runtime/emulator/translate/FloatSupport.h"

namespace pascaline::emulator {

using llvm::Value;

namespace {

// One of .approx, .rn, .rz, .rm, .rp must stand there.
bool takeAccuracy(Modifiers &modifiers, bool &approximate, FloatMode &mode) {
  approximate = modifiers.take("approx");
  mode = takeFloatMode(modifiers);
  if (mode.saturate)
    return modifiers.refuse(".sat is not defined here");
  if (approximate == mode.explicitRounding)
    return modifiers.refuse("needs .approx or one rounding mode");
  return true;
}

// .approx.ftz.f64 reads and writes the upper 32 bits; those below are zero.
Value *upperHalf(Emitter &emitter, Value *value) {
  Value *kept =
      emitter.builder.CreateAnd(emitter.bits(value), uint64_t(~0u) << 32);
  return emitter.as(kept, Type::F64);
}

} // namespace

bool emitReciprocal(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  Type type = modifiers.takeType();
  bool approximate = false;
  FloatMode mode;
  if (!takeAccuracy(modifiers, approximate, mode))
    return false;
  if (type != Type::F32 && type != Type::F64)
    return modifiers.refuse("needs .f32 or .f64");
  bool gross = approximate && type == Type::F64;
  if (gross && !mode.flush)
    return modifiers.refuse(".approx.f64 needs .ftz");
  if (!gross && !checkFloatMode(modifiers, type, mode))
    return false;
  if (!modifiers.done(2))
    return false;
  Value *a = readFloat(emitter, instruction, 1, type, mode);
  if (!a)
    return false;
  if (gross)
    a = upperHalf(emitter, a);
  Value *one = llvm::ConstantFP::get(a->getType(), 1.0);
  Value *result =
      mode.rounding == kNearest
          ? emitter.builder.CreateFDiv(one, a)
          : directed(emitter, instruction, "Divide", {one, a}, mode.rounding);
  if (gross)
    result = upperHalf(emitter, result);
  return result && emitter.write(instruction, instruction.operands[0],
                                 finish(emitter, result, mode), type);
}

bool emitSquareRoot(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  Type type = modifiers.takeType();
  bool approximate = false;
  FloatMode mode;
  if (!takeAccuracy(modifiers, approximate, mode))
    return false;
  if (type != Type::F32 && (type != Type::F64 || approximate))
    return modifiers.refuse("needs .f32, or .f64 and a rounding mode");
  if (!checkFloatMode(modifiers, type, mode) || !modifiers.done(2))
    return false;
  Value *a = readFloat(emitter, instruction, 1, type, mode);
  if (!a)
    return false;
  Value *result =
      mode.rounding == kNearest
          ? emitter.call(llvm::Intrinsic::sqrt, a->getType(), {a})
          : directed(emitter, instruction, "SquareRoot", {a}, mode.rounding);
  return result && emitter.write(instruction, instruction.operands[0],
                                 finish(emitter, result, mode), type);
}

bool emitTranscendental(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  std::string_view name = instruction.opcode;
  Type type = modifiers.takeType();
  FloatMode mode;
  bool approximate = modifiers.take("approx");
  mode.flush = modifiers.take("ftz");
  if (type != Type::F32 && !(type == Type::F64 && name == "rsqrt"))
    return modifiers.refuse("needs .f32");
  if (!approximate)
    return modifiers.refuse("needs .approx");
  if (!modifiers.done(2))
    return false;
  Value *a = readFloat(emitter, instruction, 1, type, mode);
  if (!a)
    return false;
  bool gross = type == Type::F64 && mode.flush;
  if (gross)
    a = upperHalf(emitter, a);
  llvm::IRBuilder<> &builder = emitter.builder;
  llvm::Type *f32 = builder.getFloatTy();
  Value *result = nullptr;
  if (name == "rsqrt") {
    // -0 gives -infinity, which 1 / sqrt(-0) gives too. For f32 the division
    // happens in double: two roundings there stay within half an ulp or so.
    Value *wide = builder.CreateFPExt(a, builder.getDoubleTy());
    Value *root = emitter.call(llvm::Intrinsic::sqrt, wide->getType(), {wide});
    result =
        builder.CreateFDiv(llvm::ConstantFP::get(root->getType(), 1.0), root);
    result = builder.CreateFPTrunc(result, a->getType());
    if (gross)
      result = upperHalf(emitter, result);
  } else {
    const char *helper = name == "sin"   ? "pascalineEmulatorSine"
                         : name == "cos" ? "pascalineEmulatorCosine"
                         : name == "lg2" ? "pascalineEmulatorLog2"
                                         : "pascalineEmulatorExp2";
    result = emitter.callHost(helper, f32, {a}, /*pure=*/true);
  }
  return emitter.write(instruction, instruction.operands[0],
                       finish(emitter, result, mode), type);
}

// copysign d, a, b: the sign of a, the magnitude of b.
bool emitCopySign(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  Type type = modifiers.takeType();
  if (type != Type::F32 && type != Type::F64)
    return modifiers.refuse("needs .f32 or .f64");
  if (!modifiers.done(3))
    return false;
  Value *a = emitter.read(instruction, instruction.operands[1], type);
  Value *b =
      a ? emitter.read(instruction, instruction.operands[2], type) : nullptr;
  return b && emitter.write(instruction, instruction.operands[0],
                            emitter.builder.CreateBinaryIntrinsic(
                                llvm::Intrinsic::copysign, b, a),
                            type);
}

bool emitTestProperty(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  int property = modifiers.takeOneOf(
      {"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  Type type = modifiers.takeType();
  if (property < 0)
    return modifiers.refuse("names no property");
  if (type != Type::F32 && type != Type::F64)
    return modifiers.refuse("needs .f32 or .f64");
  if (!modifiers.done(2))
    return false;
  Value *a = emitter.read(instruction, instruction.operands[1], type);
  if (!a)
    return false;
  static constexpr llvm::FPClassTest tests[] = {
      llvm::fcFinite,
      llvm::fcInf,
      llvm::FPClassTest(~llvm::fcNan & llvm::fcAllFlags),
      llvm::fcNan,
      llvm::fcNormal,
      llvm::fcSubnormal};
  return emitter.write(instruction, instruction.operands[0],
                       emitter.builder.createIsFPClass(a, tests[property]),
                       Type::Pred);
}

} // namespace pascaline::emulator
