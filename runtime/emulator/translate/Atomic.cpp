// atom and red.
//
// The threads of a block take turns on one core, so atomics on .shared memory
// are plain accesses; those on global or generic addresses are real ones.
#include "runtime/emulator/translate/Families.h"
#include "runtime/emulator/translate/MemorySupport.h"

namespace pascaline::emulator {

using llvm::AtomicOrdering;
using llvm::AtomicRMWInst;
using llvm::Value;

namespace {

enum Operation {
  kAnd,
  kOr,
  kXor,
  kExchange,
  kCompare,
  kAdd,
  kIncrement,
  kDecrement,
  kMin,
  kMax
};

bool isDefined(int operation, Type type) {
  switch (operation) {
  case kAnd:
  case kOr:
  case kXor:
  case kExchange:
  case kCompare:
    return type == Type::B32 || type == Type::B64;
  case kAdd:
    return type == Type::U32 || type == Type::S32 || type == Type::U64 ||
           type == Type::F32 || type == Type::F64 || type == Type::F16x2;
  case kIncrement:
  case kDecrement:
    return type == Type::U32;
  default:
    return type == Type::U32 || type == Type::S32 || type == Type::U64 ||
           type == Type::S64;
  }
}

AtomicRMWInst::BinOp binaryOperation(int operation, Type type) {
  switch (operation) {
  case kAnd:
    return AtomicRMWInst::And;
  case kOr:
    return AtomicRMWInst::Or;
  case kXor:
    return AtomicRMWInst::Xor;
  case kExchange:
    return AtomicRMWInst::Xchg;
  case kAdd:
    return ptx::isFloat(type) ? AtomicRMWInst::FAdd : AtomicRMWInst::Add;
  case kIncrement:
    return AtomicRMWInst::UIncWrap;
  case kDecrement:
    return AtomicRMWInst::UDecWrap;
  case kMin:
    return ptx::isSigned(type) ? AtomicRMWInst::Min : AtomicRMWInst::UMin;
  default:
    return ptx::isSigned(type) ? AtomicRMWInst::Max : AtomicRMWInst::UMax;
  }
}

Value *combine(llvm::IRBuilder<> &builder, int operation, Type type, Value *old,
               Value *b) {
  Value *one = ptx::isInteger(type) ? llvm::ConstantInt::get(old->getType(), 1)
                                    : nullptr;
  Value *zero = llvm::Constant::getNullValue(old->getType());
  switch (operation) {
  case kAnd:
    return builder.CreateAnd(old, b);
  case kOr:
    return builder.CreateOr(old, b);
  case kXor:
    return builder.CreateXor(old, b);
  case kExchange:
    return b;
  case kAdd:
    return ptx::isFloat(type) ? builder.CreateFAdd(old, b)
                              : builder.CreateAdd(old, b);
  case kIncrement: // old >= b ? 0 : old + 1
    return builder.CreateSelect(builder.CreateICmpUGE(old, b), zero,
                                builder.CreateAdd(old, one));
  case kDecrement: // old == 0 or old > b ? b : old - 1
    return builder.CreateSelect(
        builder.CreateOr(builder.CreateICmpEQ(old, zero),
                         builder.CreateICmpUGT(old, b)),
        b, builder.CreateSub(old, one));
  case kMin:
    return builder.CreateBinaryIntrinsic(
        ptx::isSigned(type) ? llvm::Intrinsic::smin : llvm::Intrinsic::umin,
        old, b);
  default:
    return builder.CreateBinaryIntrinsic(
        ptx::isSigned(type) ? llvm::Intrinsic::smax : llvm::Intrinsic::umax,
        old, b);
  }
}

// atom.add.f32 takes subnormal numbers for zeros in device memory, not in
// shared memory: the PTX ISA says so of the implementations there are.
Value *addFloat(Emitter &emitter, Value *pointer, Value *b, Space space) {
  llvm::IRBuilder<> &builder = emitter.builder;
  llvm::Type *type = b->getType();
  if (space != Space::Generic)
    return emitter.callHost("pascalineEmulatorAtomicAdd", type, {pointer, b});
  llvm::BasicBlock *device = emitter.newBlock(), *shared = emitter.newBlock(),
                   *next = emitter.newBlock();
  Value *offset = emitter.fromGeneric(
      builder.CreatePtrToInt(pointer, builder.getInt64Ty()), Space::Shared);
  builder.CreateCondBr(
      builder.CreateICmpULT(offset, builder.getInt64(uint64_t(1) << 32)),
      shared, device);
  emitter.startBlock(device);
  Value *fromDevice =
      emitter.callHost("pascalineEmulatorAtomicAdd", type, {pointer, b});
  builder.CreateBr(next);
  emitter.startBlock(shared);
  Value *fromShared = builder.CreateAlignedLoad(type, pointer, llvm::Align(4));
  builder.CreateAlignedStore(builder.CreateFAdd(fromShared, b), pointer,
                             llvm::Align(4));
  builder.CreateBr(next);
  emitter.startBlock(next);
  llvm::PHINode *old = builder.CreatePHI(type, 2);
  old->addIncoming(fromDevice, device);
  old->addIncoming(fromShared, shared);
  return old;
}

} // namespace

bool emitAtomic(Emitter &emitter, const Instruction &instruction) {
  bool hasResult = instruction.opcode == "atom";
  Modifiers modifiers(emitter, instruction);
  modifiers.takeOneOf({"cta", "gpu", "sys"});
  Space space = takeStateSpace(modifiers);
  int operation = modifiers.takeOneOf(
      {"and", "or", "xor", "exch", "cas", "add", "inc", "dec", "min", "max"});
  bool keepsSubnormals = modifiers.take("noftz");
  Type type = modifiers.takeType();
  if (operation < 0 || !isDefined(operation, type))
    return modifiers.refuse("this operation is not defined for this type");
  if (keepsSubnormals != (type == Type::F16x2))
    return modifiers.refuse(".noftz belongs to .f16x2, which needs it");
  if (!hasResult && (operation == kExchange || operation == kCompare))
    return modifiers.refuse("red has no .exch and .cas");
  if (space != Space::Global && space != Space::Shared &&
      space != Space::Generic)
    return modifiers.refuse("atomics are for .global and .shared");
  size_t first = hasResult ? 1 : 0; // operand of the address
  if (!modifiers.done(first + (operation == kCompare ? 3 : 2)))
    return false;
  Value *pointer = emitter.address(instruction, instruction.operands[first],
                                   space, ptx::bytesOf(type));
  Value *b =
      pointer ? emitter.read(instruction, instruction.operands[first + 1], type)
              : nullptr;
  Value *c = nullptr;
  if (b && operation == kCompare)
    c = emitter.read(instruction, instruction.operands[first + 2], type);
  if (!b || (operation == kCompare && !c))
    return false;
  llvm::IRBuilder<> &builder = emitter.builder;
  llvm::Align align(ptx::bytesOf(type));
  Value *old = nullptr;
  if (space == Space::Shared) {
    auto *load = builder.CreateAlignedLoad(b->getType(), pointer, align);
    old = load;
    Value *result =
        operation == kCompare
            ? builder.CreateSelect(builder.CreateICmpEQ(old, b), c, old)
            : combine(builder, operation, type, old, b);
    auto *store = builder.CreateAlignedStore(result, pointer, align);
    markSpace(emitter, load, space);
    markSpace(emitter, store, space);
  } else if (operation == kAdd && type == Type::F32) {
    old = addFloat(emitter, pointer, b, space);
  } else if (operation == kCompare) {
    auto *exchange = builder.CreateAtomicCmpXchg(pointer, b, c, align,
                                                 AtomicOrdering::Monotonic,
                                                 AtomicOrdering::Monotonic);
    markSpace(emitter, exchange, space);
    old = builder.CreateExtractValue(exchange, 0);
  } else {
    auto *atomic =
        builder.CreateAtomicRMW(binaryOperation(operation, type), pointer, b,
                                align, AtomicOrdering::Monotonic);
    markSpace(emitter, atomic, space);
    old = atomic;
  }
  return !hasResult ||
         emitter.write(instruction, instruction.operands[0], old, type);
}

} // namespace pascaline::emulator
