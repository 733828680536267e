// Operands as values: registers, immediates, variables, addresses.
#include "runtime/emulator/translate/Emitter.h"

#include <bit>

namespace pascaline::emulator {

using llvm::Value;

std::string symbolOf(const ptx::Variable &variable) {
  // Never a name of the host's: PTX chooses what comes after the prefix.
  std::string name = "ptx.variable.";
  if (variable.owner)
    name.append(variable.owner->name)
        .append(".")
        .append(std::to_string(variable.number))
        .append(".");
  return name.append(variable.name);
}

std::string symbolOf(const ptx::Function &function) {
  return std::string("ptx.function.").append(function.name);
}

llvm::Type *Emitter::llvmType(Type type) {
  switch (type) {
  case Type::F16:
    return builder.getHalfTy();
  case Type::F16x2:
    return llvm::FixedVectorType::get(builder.getHalfTy(), 2);
  case Type::F32:
    return builder.getFloatTy();
  case Type::F64:
    return builder.getDoubleTy();
  default:
    return builder.getIntNTy(ptx::bitsOf(type));
  }
}

Value *Emitter::bits(Value *value) {
  return builder.CreateBitCast(
      value, builder.getIntNTy(value->getType()->getPrimitiveSizeInBits()));
}

Value *Emitter::as(Value *value, Type type) {
  return builder.CreateBitCast(value, llvmType(type));
}

Value *Emitter::immediate(const Instruction &at, const Operand &operand,
                          Type type) {
  uint64_t raw = static_cast<uint64_t>(operand.value);
  if (operand.is(Operand::Kind::Integer)) {
    if (type == Type::Pred)
      return builder.getInt1(raw != 0);
    if (ptx::isFloat(type)) {
      fail(at, "an integer where '" + at.fullName() + "' takes ." +
                   std::string(ptx::nameOf(type)));
      return nullptr;
    }
    return constant(type, raw);
  }
  bool isFloat = operand.is(Operand::Kind::Float);
  double value = isFloat ? std::bit_cast<float>(static_cast<uint32_t>(raw))
                         : std::bit_cast<double>(raw);
  switch (type) {
  case Type::F32:
    if (isFloat) // keeps the bits of a NaN
      return as(builder.getInt32(static_cast<uint32_t>(raw)), type);
    return llvm::ConstantFP::get(builder.getFloatTy(),
                                 static_cast<float>(value));
  case Type::F64:
    return llvm::ConstantFP::get(builder.getDoubleTy(), value);
  case Type::B32:
  case Type::U32:
  case Type::S32:
    if (isFloat)
      return constant(type, static_cast<uint32_t>(raw));
    break;
  case Type::B64:
  case Type::U64:
  case Type::S64:
    if (!isFloat)
      return constant(type, raw);
    break;
  default:
    break;
  }
  fail(at, "a floating-point constant where '" + at.fullName() + "' takes ." +
               std::string(ptx::nameOf(type)));
  return nullptr;
}

Value *Emitter::read(const Instruction &at, const Operand &operand, Type type,
                     bool wide) {
  unsigned size = ptx::bitsOf(type);
  if (operand.negated && type != Type::Pred) {
    fail(at, "'!' before an operand that is no predicate");
    return nullptr;
  }
  switch (operand.kind) {
  case Operand::Kind::Register: {
    const ptx::Register &held = function.registers[operand.index];
    unsigned heldSize = ptx::bitsOf(held.type);
    bool sameKind = (held.type == Type::Pred) == (type == Type::Pred);
    if (!sameKind || (wide ? heldSize < size : heldSize != size)) {
      fail(at, "register '" + std::string(held.name) + "' of type ." +
                   std::string(ptx::nameOf(held.type)) + " does not fit ." +
                   std::string(ptx::nameOf(type)) + " in '" + at.fullName() +
                   "'");
      return nullptr;
    }
    llvm::AllocaInst *from = registerSlot(operand.index);
    Value *value = builder.CreateLoad(from->getAllocatedType(), from);
    if (type == Type::Pred)
      return operand.negated ? builder.CreateNot(value) : value;
    if (value->getType() == llvmType(type))
      return value;
    value = bits(value);
    if (heldSize > size)
      value = builder.CreateTrunc(value, builder.getIntNTy(size));
    return as(value, type);
  }
  case Operand::Kind::Special: {
    Value *value = special(at, operand.name);
    if (!value || !ptx::isInteger(type)) {
      if (value)
        fail(at, "'" + std::string(operand.name) + "' is an integer, '" +
                     at.fullName() + "' takes ." +
                     std::string(ptx::nameOf(type)));
      return nullptr;
    }
    return builder.CreateZExtOrTrunc(value, llvmType(type));
  }
  case Operand::Kind::Integer:
  case Operand::Kind::Float:
  case Operand::Kind::Double:
    return immediate(at, operand, type);
  case Operand::Kind::Variable: {
    if (!ptx::isInteger(type) || size < 32) {
      fail(at, "the address of '" + std::string(operand.name) +
                   "' does not fit ." + std::string(ptx::nameOf(type)));
      return nullptr;
    }
    Value *address = variableAddress(at, operand);
    return address ? builder.CreateTrunc(address, llvmType(type)) : nullptr;
  }
  case Operand::Kind::Name:
  case Operand::Kind::Label:
  case Operand::Kind::Table:
    if (source.functionsByName.count(operand.name))
      unsupported(at, "the address of function '" + std::string(operand.name) +
                          "' is taken, which is not supported");
    else
      fail(at,
           "'" + std::string(operand.name) + "' is not declared as a value");
    return nullptr;
  default:
    fail(at, "'" + at.fullName() + "' takes a value here");
    return nullptr;
  }
}

bool Emitter::write(const Instruction &at, const Operand &operand, Value *value,
                    Type type, bool wide) {
  if (operand.is(Operand::Kind::Sink))
    return true;
  if (!operand.is(Operand::Kind::Register) || operand.negated)
    return fail(at, "'" + at.fullName() + "' writes to a register");
  const ptx::Register &held = function.registers[operand.index];
  unsigned heldSize = ptx::bitsOf(held.type), size = ptx::bitsOf(type);
  bool sameKind = (held.type == Type::Pred) == (type == Type::Pred);
  if (!sameKind || (wide ? heldSize < size : heldSize != size))
    return fail(at, "register '" + std::string(held.name) + "' of type ." +
                        std::string(ptx::nameOf(held.type)) +
                        " cannot take the ." + std::string(ptx::nameOf(type)) +
                        " result of '" + at.fullName() + "'");
  llvm::AllocaInst *to = registerSlot(operand.index);
  if (to->getAllocatedType() != value->getType()) {
    value = bits(value);
    if (heldSize > size)
      value = ptx::isSigned(type)
                  ? builder.CreateSExt(value, builder.getIntNTy(heldSize))
                  : builder.CreateZExt(value, builder.getIntNTy(heldSize));
    value = builder.CreateBitCast(value, to->getAllocatedType());
  }
  builder.CreateStore(value, to);
  return true;
}

Value *Emitter::variableAddress(const Instruction &at, const Operand &operand) {
  const ptx::Variable *variable = operand.variable;
  Value *displacement = builder.getInt64(operand.value);
  if (variable->space == Space::Global || variable->space == Space::Const) {
    // No size: LLVM must not reason about what lies outside the variable.
    llvm::Constant *symbol = module.getOrInsertGlobal(
        symbolOf(*variable), llvm::ArrayType::get(builder.getInt8Ty(), 0));
    return builder.CreateAdd(
        builder.CreatePtrToInt(symbol, builder.getInt64Ty()), displacement);
  }
  auto placed = layout.offsets.find(variable);
  if (placed != layout.offsets.end())
    return builder.CreateAdd(builder.getInt64(placed->second), displacement);
  // A parameter of a function has a number instead of a place: see
  // functionParamAddress().
  for (size_t i = 0; i < addressedParams.size(); ++i)
    if (addressedParams[i] == variable)
      return builder.CreateAdd(builder.getInt64(uint64_t(i) << 32),
                               displacement);
  unsupported(at, "the address of '" + std::string(variable->name) +
                      "' is taken, which is not supported");
  return nullptr;
}

// Parameters are clamped to their bytes: they lie in host memory.
Value *Emitter::kernelParamAddress(Value *value, uint64_t accessBytes) {
  value = builder.CreateBinaryIntrinsic(
      llvm::Intrinsic::umin, value,
      builder.getInt64(layout.info.paramBytes - accessBytes));
  return builder.CreateGEP(builder.getInt8Ty(), paramBase(), value);
}

// value: the parameter's number in the high half, an offset in the low one.
Value *Emitter::functionParamAddress(Value *value, uint64_t accessBytes) {
  Value *number = builder.CreateLShr(value, 32);
  Value *offset = builder.CreateAnd(value, builder.getInt64(0xffffffff));
  Value *pointer = nullptr, *last = nullptr;
  for (size_t i = 0; i < addressedParams.size(); ++i) {
    if (addressedParams[i]->bytes < accessBytes)
      continue;
    Value *ours = paramPointer(addressedParams[i]);
    Value *end = builder.getInt64(addressedParams[i]->bytes - accessBytes);
    Value *chosen = builder.CreateICmpEQ(number, builder.getInt64(i));
    pointer = pointer ? builder.CreateSelect(chosen, ours, pointer) : ours;
    last = last ? builder.CreateSelect(chosen, end, last) : end;
  }
  if (!pointer)
    return nullptr;
  offset = builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, offset, last);
  return builder.CreateGEP(builder.getInt8Ty(), pointer, offset);
}

Value *Emitter::toGeneric(Value *address, Space space) {
  llvm::Type *i64 = builder.getInt64Ty();
  Value *base = nullptr;
  switch (space) {
  case Space::Shared:
    base = sharedBase();
    address = builder.CreateAnd(address, builder.getInt64(0xffffffff));
    break;
  case Space::Local:
    base = localBase();
    address = builder.CreateAnd(address, builder.getInt64(0xffffffff));
    break;
  case Space::Param:
    base = paramBase();
    break;
  default:
    return address;
  }
  return builder.CreateAdd(builder.CreatePtrToInt(base, i64), address);
}

Value *Emitter::fromGeneric(Value *address, Space space) {
  if (space != Space::Shared && space != Space::Local)
    return address;
  Value *base = space == Space::Shared ? sharedBase() : localBase();
  return builder.CreateSub(address,
                           builder.CreatePtrToInt(base, builder.getInt64Ty()));
}

Value *Emitter::address(const Instruction &at, const Operand &operand,
                        Space space, uint64_t accessBytes) {
  Value *pointer = confinedAddress(at, operand, space, accessBytes);
  if (pointer && layout.info.sanitized)
    checkAccess(at, operand, space, accessBytes, pointer);
  if (pointer && counter &&
      !counter->access(operand, space, accessBytes, pointer))
    return nullptr;
  return pointer;
}

// The masking rules are those of Kernel.h.
Value *Emitter::confinedAddress(const Instruction &at, const Operand &operand,
                                Space space, uint64_t accessBytes) {
  if (!operand.is(Operand::Kind::Address) || operand.elements.size() != 1) {
    fail(at, "'" + at.fullName() + "' takes an address in brackets here");
    return nullptr;
  }
  const Operand &base = operand.elements[0];
  llvm::Type *i8 = builder.getInt8Ty();
  int64_t displacement = operand.value;
  auto displaced = [&](Value *pointer) {
    return displacement
               ? builder.CreateGEP(i8, pointer, builder.getInt64(displacement))
               : pointer;
  };
  if (base.is(Operand::Kind::Variable)) {
    const ptx::Variable *variable = base.variable;
    if (space == Space::Generic && variable->space != Space::Local)
      space = variable->space;
    if (variable->space != space) {
      fail(at, "variable '" + std::string(variable->name) +
                   "' lies in another space than '" + at.fullName() +
                   "' addresses");
      return nullptr;
    }
    if (space == Space::Param) {
      if (displacement < 0 || displacement + accessBytes > variable->bytes) {
        fail(at, "access to bytes " + std::to_string(displacement) + " to " +
                     std::to_string(displacement + int64_t(accessBytes)) +
                     " of parameter '" + std::string(variable->name) +
                     "', which has " + std::to_string(variable->bytes));
        return nullptr;
      }
      return displaced(paramPointer(variable));
    }
    if (space == Space::Global || space == Space::Const)
      return displaced(module.getOrInsertGlobal(symbolOf(*variable),
                                                llvm::ArrayType::get(i8, 0)));
    Value *start = space == Space::Shared ? sharedBase() : localBase();
    displacement += layout.offsets.at(variable);
    return displaced(start);
  }
  if (base.is(Operand::Kind::Name)) {
    fail(at, "'" + std::string(base.name) + "' is not declared");
    return nullptr;
  }
  if (!base.is(Operand::Kind::Register) && !base.is(Operand::Kind::Integer)) {
    fail(at, "an address begins with a register, a variable or a number");
    return nullptr;
  }
  bool narrow = base.is(Operand::Kind::Register) &&
                ptx::bitsOf(function.registers[base.index].type) == 32;
  Value *value = read(at, base, narrow ? Type::U32 : Type::U64);
  if (!value)
    return nullptr;
  llvm::Type *i64 = builder.getInt64Ty();
  switch (space) {
  case Space::Shared:
    value = builder.CreateZExt(builder.CreateTrunc(value, builder.getInt32Ty()),
                               i64);
    return displaced(builder.CreateGEP(i8, sharedBase(), value));
  case Space::Local:
    value = builder.CreateAnd(builder.CreateZExt(value, i64),
                              builder.getInt64(kLocalWindowBytes - 1));
    return displaced(builder.CreateGEP(i8, localBase(), value));
  case Space::Param: {
    value = builder.CreateAdd(builder.CreateZExt(value, i64),
                              builder.getInt64(displacement));
    Value *pointer = nullptr;
    if (!function.isEntry)
      pointer = functionParamAddress(value, accessBytes);
    else if (accessBytes <= layout.info.paramBytes)
      pointer = kernelParamAddress(value, accessBytes);
    if (!pointer)
      fail(at, "no parameter holds " + std::to_string(accessBytes) + " bytes");
    return pointer;
  }
  default:
    if (narrow && space != Space::Const) {
      fail(at, "a 32-bit register cannot address global memory");
      return nullptr;
    }
    value = builder.CreateAnd(builder.CreateZExt(value, i64),
                              builder.getInt64(kGlobalWindowBytes - 1));
    return displaced(builder.CreateGEP(i8, globalBase(), value));
  }
}

Value *Emitter::callHost(const char *name, llvm::Type *result,
                         llvm::ArrayRef<Value *> arguments, bool pure) {
  std::vector<llvm::Type *> types;
  for (Value *argument : arguments)
    types.push_back(argument->getType());
  llvm::FunctionCallee callee = module.getOrInsertFunction(
      name, llvm::FunctionType::get(result, types, false));
  llvm::CallInst *call = builder.CreateCall(callee, arguments);
  call->setDoesNotThrow();
  if (pure) {
    call->setDoesNotAccessMemory();
    call->addFnAttr(llvm::Attribute::WillReturn);
  }
  return call;
}

Value *Emitter::callHook(const char *name, llvm::Type *result,
                         llvm::ArrayRef<Value *> arguments) {
  std::vector<Value *> all{code->getArg(0)};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return callHost(name, result, all);
}

void Emitter::callHook(const char *name, llvm::ArrayRef<Value *> arguments) {
  callHook(name, builder.getVoidTy(), arguments);
}

Value *Emitter::flush(Value *value) {
  llvm::Type *type = value->getType();
  llvm::Type *scalar = type->getScalarType();
  double least = scalar->isHalfTy()    ? 0x1p-14
                 : scalar->isFloatTy() ? 0x1p-126
                                       : 0x1p-1022;
  Value *magnitude = call(llvm::Intrinsic::fabs, type, {value});
  Value *tiny =
      builder.CreateFCmpOLT(magnitude, llvm::ConstantFP::get(type, least));
  Value *zero = builder.CreateBinaryIntrinsic(
      llvm::Intrinsic::copysign, llvm::ConstantFP::get(type, 0.0), value);
  return builder.CreateSelect(tiny, zero, value);
}

} // namespace pascaline::emulator
