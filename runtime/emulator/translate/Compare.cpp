// Comparisons and selections.
#include "runtime/emulator/translate/Families.h"
#include "runtime/emulator/translate/FloatSupport.h"

namespace pascaline::emulator {

using llvm::CmpInst;
using llvm::Value;

namespace {

struct Comparison {
  std::string_view name;
  CmpInst::Predicate isSigned, isUnsigned, isFloat;
};

constexpr CmpInst::Predicate kNone = CmpInst::BAD_ICMP_PREDICATE;
constexpr Comparison kComparisons[] = {
    {"eq", CmpInst::ICMP_EQ, CmpInst::ICMP_EQ, CmpInst::FCMP_OEQ},
    {"ne", CmpInst::ICMP_NE, CmpInst::ICMP_NE, CmpInst::FCMP_ONE},
    {"lt", CmpInst::ICMP_SLT, CmpInst::ICMP_ULT, CmpInst::FCMP_OLT},
    {"le", CmpInst::ICMP_SLE, CmpInst::ICMP_ULE, CmpInst::FCMP_OLE},
    {"gt", CmpInst::ICMP_SGT, CmpInst::ICMP_UGT, CmpInst::FCMP_OGT},
    {"ge", CmpInst::ICMP_SGE, CmpInst::ICMP_UGE, CmpInst::FCMP_OGE},
    {"lo", kNone, CmpInst::ICMP_ULT, kNone},
    {"ls", kNone, CmpInst::ICMP_ULE, kNone},
    {"hi", kNone, CmpInst::ICMP_UGT, kNone},
    {"hs", kNone, CmpInst::ICMP_UGE, kNone},
    {"equ", kNone, kNone, CmpInst::FCMP_UEQ},
    {"neu", kNone, kNone, CmpInst::FCMP_UNE},
    {"ltu", kNone, kNone, CmpInst::FCMP_ULT},
    {"leu", kNone, kNone, CmpInst::FCMP_ULE},
    {"gtu", kNone, kNone, CmpInst::FCMP_UGT},
    {"geu", kNone, kNone, CmpInst::FCMP_UGE},
    {"num", kNone, kNone, CmpInst::FCMP_ORD},
    {"nan", kNone, kNone, CmpInst::FCMP_UNO},
};

// What set and setp share: a comparison of operands 1 and 2, and what combines
// it with the predicate in operand 3.
struct Compared {
  Value *result = nullptr;
  Value *other = nullptr; // null: nothing to combine with
  int combine = -1;       // 0 and, 1 or, 2 xor
};

Value *combine(Emitter &emitter, const Compared &compared, Value *value) {
  if (compared.combine < 0)
    return value;
  Value *other = compared.other;
  if (value->getType()->isVectorTy())
    other = emitter.builder.CreateVectorSplat(2, other);
  switch (compared.combine) {
  case 0:
    return emitter.builder.CreateAnd(value, other);
  case 1:
    return emitter.builder.CreateOr(value, other);
  default:
    return emitter.builder.CreateXor(value, other);
  }
}

// `type` is that of the operands; the caller has taken the result's.
bool compare(Emitter &emitter, const Instruction &instruction,
             Modifiers &modifiers, Type type, Compared &compared) {
  const Comparison *comparison = nullptr;
  for (const Comparison &each : kComparisons)
    if (modifiers.take(each.name)) {
      comparison = &each;
      break;
    }
  compared.combine = modifiers.takeOneOf({"and", "or", "xor"});
  FloatMode mode;
  if (type == Type::F32 || type == Type::F16 || type == Type::F16x2)
    mode.flush = modifiers.take("ftz");
  if (!comparison)
    return modifiers.refuse("names no comparison");
  CmpInst::Predicate predicate = kNone;
  if (isFloatOperand(type))
    predicate = comparison->isFloat;
  else if (ptx::isSigned(type) && ptx::bitsOf(type) >= 16)
    predicate = comparison->isSigned;
  else if (ptx::isUnsigned(type) && ptx::bitsOf(type) >= 16)
    predicate = comparison->isUnsigned;
  else if (ptx::isBits(type) && ptx::bitsOf(type) >= 16 &&
           (comparison->name == "eq" || comparison->name == "ne"))
    predicate = comparison->isUnsigned;
  if (predicate == kNone)
    return modifiers.refuse("this comparison is not defined for this type");
  if (!modifiers.done(compared.combine < 0 ? 3 : 4))
    return false;
  Value *a = readFloat(emitter, instruction, 1, type, mode);
  Value *b = a ? readFloat(emitter, instruction, 2, type, mode) : nullptr;
  if (!b)
    return false;
  if (compared.combine >= 0 &&
      !(compared.other =
            emitter.read(instruction, instruction.operands[3], Type::Pred)))
    return false;
  compared.result = ptx::isFloat(type)
                        ? emitter.builder.CreateFCmp(predicate, a, b)
                        : emitter.builder.CreateICmp(predicate, a, b);
  return true;
}

} // namespace

// setp p|q: p the result, q its complement (for .f16x2 the second half's),
// each combined.
bool emitSetPredicate(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  Type type = modifiers.takeType();
  Compared compared;
  if (!compare(emitter, instruction, modifiers, type, compared))
    return false;
  llvm::IRBuilder<> &builder = emitter.builder;
  Value *first = compared.result;
  Value *second = nullptr;
  if (type == Type::F16x2) {
    second = builder.CreateExtractElement(first, uint64_t(1));
    first = builder.CreateExtractElement(first, uint64_t(0));
  } else {
    second = builder.CreateNot(first);
  }
  first = combine(emitter, compared, first);
  second = combine(emitter, compared, second);
  const Operand &to = instruction.operands[0];
  if (!to.is(Operand::Kind::Pair))
    return emitter.write(instruction, to, first, Type::Pred);
  if (type == Type::F16)
    return modifiers.refuse(".f16 gives one predicate");
  return emitter.write(instruction, to.elements[0], first, Type::Pred) &&
         emitter.write(instruction, to.elements[1], second, Type::Pred);
}

// Which results set has for operands of a type.
static bool isSetResult(Type result, Type type) {
  switch (result) {
  case Type::U32:
  case Type::S32:
    return true;
  case Type::U16:
  case Type::S16:
    return type == Type::F16;
  case Type::F32:
    return type != Type::F16 && type != Type::F16x2;
  case Type::F16:
    return type != Type::F16x2;
  case Type::F16x2:
    return type == Type::F16x2;
  default:
    return false;
  }
}

// set.CmpOp.dtype.stype: all ones or 1.0; for .f16x2, in each half.
bool emitSet(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  Type resultType = modifiers.takeType(), type = modifiers.takeType();
  if (!isSetResult(resultType, type))
    return modifiers.refuse("not defined for these types");
  Compared compared;
  if (!compare(emitter, instruction, modifiers, type, compared))
    return false;
  llvm::IRBuilder<> &builder = emitter.builder;
  Value *truth = combine(emitter, compared, compared.result);
  llvm::Type *wide = emitter.llvmType(resultType);
  if (ptx::isInteger(resultType) && type == Type::F16x2)
    wide = llvm::FixedVectorType::get(builder.getInt16Ty(), 2);
  Value *result = ptx::isFloat(resultType) ? builder.CreateUIToFP(truth, wide)
                                           : builder.CreateSExt(truth, wide);
  return emitter.write(instruction, instruction.operands[0], result,
                       resultType);
}

bool emitSelect(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  Type type = modifiers.takeType();
  if (!ptx::isPlainValue(type) || ptx::bitsOf(type) < 16)
    return modifiers.refuse("not defined for this type");
  if (!modifiers.done(4))
    return false;
  Value *a = emitter.read(instruction, instruction.operands[1], type);
  Value *b =
      a ? emitter.read(instruction, instruction.operands[2], type) : nullptr;
  Value *choice =
      b ? emitter.read(instruction, instruction.operands[3], Type::Pred)
        : nullptr;
  return choice &&
         emitter.write(instruction, instruction.operands[0],
                       emitter.builder.CreateSelect(choice, a, b), type);
}

// slct: a where c is at least zero, else b; NaN chooses b.
bool emitSelectBySign(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  Type type = modifiers.takeType(), signType = modifiers.takeType();
  FloatMode mode;
  mode.flush = modifiers.take("ftz");
  if (!ptx::isPlainValue(type) || ptx::bitsOf(type) < 16 ||
      (signType != Type::S32 && signType != Type::F32) ||
      (mode.flush && signType != Type::F32))
    return modifiers.refuse("needs a type and .s32 or .f32");
  if (!modifiers.done(4))
    return false;
  Value *a = emitter.read(instruction, instruction.operands[1], type);
  Value *b =
      a ? emitter.read(instruction, instruction.operands[2], type) : nullptr;
  Value *c = b ? readFloat(emitter, instruction, 3, signType, mode) : nullptr;
  if (!c)
    return false;
  llvm::IRBuilder<> &builder = emitter.builder;
  Value *zero = llvm::Constant::getNullValue(c->getType());
  Value *choice = signType == Type::F32 ? builder.CreateFCmpOGE(c, zero)
                                        : builder.CreateICmpSGE(c, zero);
  return emitter.write(instruction, instruction.operands[0],
                       builder.CreateSelect(choice, a, b), type);
}

} // namespace pascaline::emulator
