// mov, cvta, isspacep.
#include "runtime/emulator/translate/Emitter.h"
#include "runtime/emulator/translate/Families.h"
#include "runtime/emulator/translate/MemorySupport.h"

namespace pascaline::emulator {

using llvm::Value;

namespace {

// mov.b64 %rd, {%r1, %r2}: the first is the lowest part.
bool emitPack(Emitter &emitter, const Instruction &instruction, Type whole,
              Type part) {
  llvm::IRBuilder<> &builder = emitter.builder;
  Value *packed = emitter.constant(whole, 0);
  unsigned shift = 0;
  for (const Operand &element : instruction.operands[1].elements) {
    Value *value = emitter.read(instruction, element, part);
    if (!value)
      return false;
    value = builder.CreateZExt(value, packed->getType());
    packed = builder.CreateOr(packed, builder.CreateShl(value, shift));
    shift += ptx::bitsOf(part);
  }
  return emitter.write(instruction, instruction.operands[0], packed, whole);
}

bool emitUnpack(Emitter &emitter, const Instruction &instruction, Type whole,
                Type part) {
  llvm::IRBuilder<> &builder = emitter.builder;
  Value *value = emitter.read(instruction, instruction.operands[1], whole);
  if (!value)
    return false;
  unsigned shift = 0;
  for (const Operand &element : instruction.operands[0].elements) {
    Value *piece = builder.CreateTrunc(builder.CreateLShr(value, shift),
                                       emitter.llvmType(part));
    if (!emitter.write(instruction, element, piece, part))
      return false;
    shift += ptx::bitsOf(part);
  }
  return true;
}

} // namespace

bool emitMove(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  Type type = modifiers.takeType();
  if (type != Type::Pred &&
      (!ptx::isPlainValue(type) || ptx::bitsOf(type) < 16))
    return modifiers.refuse("needs a type of 16 bits or more, or .pred");
  if (!modifiers.done(2))
    return false;
  const Operand &to = instruction.operands[0], &from = instruction.operands[1];
  bool pack = from.is(Operand::Kind::Vector);
  bool unpack = to.is(Operand::Kind::Vector);
  if (pack || unpack) {
    size_t count = (pack ? from : to).elements.size();
    unsigned size = ptx::bitsOf(type);
    Type part = size == 8 * count    ? Type::B8
                : size == 16 * count ? Type::B16
                : size == 32 * count ? Type::B32
                                     : Type::None;
    if (!ptx::isBits(type) || part == Type::None || count < 2 ||
        (pack && unpack))
      return modifiers.refuse("these parts do not make up the whole");
    return pack ? emitPack(emitter, instruction, type, part)
                : emitUnpack(emitter, instruction, type, part);
  }
  Value *value = emitter.read(instruction, from, type);
  return value && emitter.write(instruction, to, value, type);
}

bool emitConvertAddress(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  bool to = modifiers.take("to");
  Space space = takeStateSpace(modifiers);
  Type type = modifiers.takeType();
  if (space == Space::Generic || space == Space::Param || type != Type::U64)
    return modifiers.refuse("needs .global, .shared, .local or .const, and "
                            ".u64");
  if (!modifiers.done(2))
    return false;
  Value *value = emitter.read(instruction, instruction.operands[1], type);
  if (!value)
    return false;
  value =
      to ? emitter.fromGeneric(value, space) : emitter.toGeneric(value, space);
  return emitter.write(instruction, instruction.operands[0], value, type);
}

// i1 f(i64): does a generic address lie in one of the module's .const
// variables? Made at its first use; a module may have very many of them.
static llvm::Function *isConstantAddress(Emitter &emitter) {
  llvm::Module &module = emitter.module;
  constexpr const char *name = "ptx.is.constant";
  if (llvm::Function *known = module.getFunction(name))
    return known;
  llvm::IRBuilder<> builder(emitter.context);
  llvm::Type *i64 = builder.getInt64Ty();
  auto *function = llvm::Function::Create(
      llvm::FunctionType::get(builder.getInt1Ty(), {i64}, false),
      llvm::GlobalValue::InternalLinkage, name, module);
  builder.SetInsertPoint(
      llvm::BasicBlock::Create(emitter.context, "", function));
  Value *found = builder.getFalse();
  auto add = [&](const ptx::Variable &variable) {
    if (variable.space != Space::Const || variable.isExtern)
      return;
    llvm::Constant *symbol = module.getOrInsertGlobal(
        symbolOf(variable), llvm::ArrayType::get(builder.getInt8Ty(), 0));
    Value *offset = builder.CreateSub(function->getArg(0),
                                      builder.CreatePtrToInt(symbol, i64));
    found = builder.CreateOr(
        found, builder.CreateICmpULT(offset, builder.getInt64(variable.bytes)));
  };
  for (const ptx::Variable &variable : emitter.source.variables)
    add(variable);
  for (const ptx::Function &owner : emitter.source.functions)
    for (const ptx::Variable &variable : owner.variables)
      add(variable);
  builder.CreateRet(found);
  return function;
}

// Shared, local and constant memory are parts of the global window.
bool emitIsSpace(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  Space space = takeStateSpace(modifiers);
  if (space == Space::Generic || space == Space::Param)
    return modifiers.refuse("needs .global, .shared, .local or .const");
  if (!modifiers.done(2))
    return false;
  Value *a = emitter.read(instruction, instruction.operands[1], Type::U64);
  if (!a)
    return false;
  llvm::IRBuilder<> &builder = emitter.builder;
  auto within = [&](Space which, uint64_t bytes) {
    return builder.CreateICmpULT(emitter.fromGeneric(a, which),
                                 builder.getInt64(bytes));
  };
  Value *shared = within(Space::Shared, uint64_t(1) << 32);
  Value *local = within(Space::Local, kLocalWindowBytes);
  Value *constant = builder.CreateCall(isConstantAddress(emitter), {a});
  Value *result = nullptr;
  if (space == Space::Shared)
    result = shared;
  else if (space == Space::Local)
    result = local;
  else if (space == Space::Const)
    result = constant;
  else
    result = builder.CreateNot(
        builder.CreateOr(builder.CreateOr(shared, local), constant));
  return emitter.write(instruction, instruction.operands[0], result,
                       Type::Pred);
}

} // namespace pascaline::emulator
