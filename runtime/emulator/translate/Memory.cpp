// ld, st, prefetch and fences.
#include "runtime/emulator/translate/Families.h"
#include "runtime/emulator/translate/MemorySupport.h"

namespace pascaline::emulator {

using llvm::AtomicOrdering;
using llvm::Value;

MemoryOrder takeMemoryOrder(Modifiers &modifiers) {
  MemoryOrder order;
  switch (modifiers.takeOneOf(
      {"weak", "volatile", "relaxed", "acquire", "release", "acq_rel"})) {
  case 1:
    order.isVolatile = true;
    break;
  case 2:
    order.ordering = AtomicOrdering::Monotonic;
    break;
  case 3:
    order.ordering = AtomicOrdering::Acquire;
    break;
  case 4:
    order.ordering = AtomicOrdering::Release;
    break;
  case 5:
    order.ordering = AtomicOrdering::AcquireRelease;
    break;
  default:
    break;
  }
  modifiers.takeOneOf({"cta", "gpu", "sys"});
  return order;
}

Space takeStateSpace(Modifiers &modifiers) {
  switch (modifiers.takeOneOf({"global", "shared", "local", "const", "param",
                               "shared::cta", "param::entry", "param::func"})) {
  case 0:
    return Space::Global;
  case 1:
  case 5:
    return Space::Shared;
  case 2:
    return Space::Local;
  case 3:
    return Space::Const;
  case 4:
  case 6:
  case 7:
    return Space::Param;
  default:
    return Space::Generic;
  }
}

void takeCacheHints(Modifiers &modifiers) {
  modifiers.takeOneOf({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
  modifiers.takeOneOf({"L1::evict_normal", "L1::evict_unchanged",
                       "L1::evict_first", "L1::evict_last", "L1::no_allocate"});
  modifiers.takeOneOf({"L2::64B", "L2::128B", "L2::256B"});
}

void markSpace(Emitter &emitter, llvm::Instruction *access, Space space) {
  if (space == Space::Generic || space == Space::Param)
    return;
  llvm::LLVMContext &context = emitter.context;
  // One domain for all functions: after inlining they still agree.
  auto named = [&](llvm::Metadata *first, llvm::StringRef name) {
    std::vector<llvm::Metadata *> parts{llvm::MDString::get(context, name)};
    if (first)
      parts.push_back(first);
    return llvm::MDNode::get(context, parts);
  };
  llvm::MDNode *domain = named(nullptr, "ptx");
  llvm::MDNode *scopes[] = {named(domain, "global"), named(domain, "shared"),
                            named(domain, "local")};
  size_t own = space == Space::Shared ? 1 : space == Space::Local ? 2 : 0;
  std::vector<llvm::Metadata *> others;
  for (size_t i = 0; i < 3; ++i)
    if (i != own)
      others.push_back(scopes[i]);
  access->setMetadata(llvm::LLVMContext::MD_alias_scope,
                      llvm::MDNode::get(context, {scopes[own]}));
  access->setMetadata(llvm::LLVMContext::MD_noalias,
                      llvm::MDNode::get(context, others));
}

namespace {

// One ld or st, its modifiers read.
struct Access {
  Space space;
  MemoryOrder order;
  bool invariant = false;
  Type type;
  uint32_t count = 1;
  Value *pointer = nullptr;

  uint32_t bytes() const { return ptx::bytesOf(type) * count; }
  // PTX wants addresses aligned to the whole access. Parameters of functions
  // live in host memory that is aligned as it happens to be.
  llvm::Align align(uint32_t element) const {
    if (space == Space::Param)
      return llvm::Align(1);
    return llvm::commonAlignment(llvm::Align(bytes()),
                                 uint64_t(element) * ptx::bytesOf(type));
  }
};

bool takeAccess(Emitter &emitter, const Instruction &instruction,
                Modifiers &modifiers, Access &access) {
  access.order = takeMemoryOrder(modifiers);
  access.space = takeStateSpace(modifiers);
  takeCacheHints(modifiers);
  int vector = modifiers.takeOneOf({"v2", "v4"});
  access.count = vector < 0 ? 1 : vector == 0 ? 2 : 4;
  access.type = modifiers.takeType();
  if (access.type == Type::None || access.type == Type::Pred)
    return modifiers.refuse("needs a type of 8 to 64 bits");
  if (access.bytes() > 16)
    return modifiers.refuse("accesses more than 16 bytes");
  if (access.count > 1 && access.order.ordering != AtomicOrdering::NotAtomic)
    access.order = {AtomicOrdering::NotAtomic, true};
  return true;
}

// The registers of a vector access, or the one of a scalar access.
bool elements(const Instruction &instruction, Modifiers &modifiers,
              const Operand &operand, uint32_t count,
              std::vector<const Operand *> &all) {
  if (count == 1 && !operand.is(Operand::Kind::Vector)) {
    all.push_back(&operand);
    return true;
  }
  if (!operand.is(Operand::Kind::Vector) || operand.elements.size() != count)
    return modifiers.refuse("needs as many elements in braces as it says");
  for (const Operand &element : operand.elements)
    all.push_back(&element);
  return true;
}

bool isKernelParam(const Emitter &emitter, const Operand &address,
                   Space space) {
  if (space != Space::Param)
    return false;
  const ptx::Variable *variable = address.elements[0].variable;
  return variable ? emitter.layout.offsets.count(variable) != 0
                  : emitter.function.isEntry;
}

Value *elementPointer(Emitter &emitter, const Access &access, uint32_t i) {
  return i ? emitter.builder.CreateConstGEP1_64(
                 emitter.builder.getInt8Ty(), access.pointer,
                 uint64_t(i) * ptx::bytesOf(access.type))
           : access.pointer;
}

} // namespace

bool emitLoad(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  Access access;
  access.invariant = modifiers.take("nc") || instruction.opcode == "ldu";
  std::vector<const Operand *> registers;
  if (!takeAccess(emitter, instruction, modifiers, access) ||
      !modifiers.done(2) ||
      !elements(instruction, modifiers, instruction.operands[0], access.count,
                registers))
    return false;
  access.pointer = emitter.address(instruction, instruction.operands[1],
                                   access.space, access.bytes());
  if (!access.pointer)
    return false;
  // Kernel parameters and constants cannot be written while it runs; the
  // parameters of calls can.
  access.invariant |=
      access.space == Space::Const ||
      isKernelParam(emitter, instruction.operands[1], access.space);
  std::vector<Value *> values;
  llvm::Type *type = emitter.llvmType(access.type);
  for (uint32_t i = 0; i < access.count; ++i) {
    llvm::LoadInst *load = emitter.builder.CreateAlignedLoad(
        type, elementPointer(emitter, access, i), access.align(i),
        access.order.isVolatile);
    if (access.order.ordering != AtomicOrdering::NotAtomic)
      load->setAtomic(access.order.ordering);
    else if (access.invariant && !access.order.isVolatile)
      load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                        llvm::MDNode::get(emitter.context, {}));
    markSpace(emitter, load, access.space);
    values.push_back(load);
  }
  for (uint32_t i = 0; i < access.count; ++i)
    if (!emitter.write(instruction, *registers[i], values[i], access.type,
                       /*wide=*/true))
      return false;
  return true;
}

bool emitStore(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  Access access;
  std::vector<const Operand *> registers;
  if (!takeAccess(emitter, instruction, modifiers, access) ||
      !modifiers.done(2) ||
      !elements(instruction, modifiers, instruction.operands[1], access.count,
                registers))
    return false;
  if (access.space == Space::Const)
    return modifiers.refuse(".const cannot be written");
  if (access.order.ordering == AtomicOrdering::Acquire)
    return modifiers.refuse("a store has no .acquire");
  access.pointer = emitter.address(instruction, instruction.operands[0],
                                   access.space, access.bytes());
  if (!access.pointer)
    return false;
  if (isKernelParam(emitter, instruction.operands[0], access.space))
    return modifiers.refuse("a kernel's parameters cannot be written");
  for (uint32_t i = 0; i < access.count; ++i) {
    Value *value = emitter.read(instruction, *registers[i], access.type,
                                /*wide=*/true);
    if (!value)
      return false;
    llvm::StoreInst *store = emitter.builder.CreateAlignedStore(
        value, elementPointer(emitter, access, i), access.align(i),
        access.order.isVolatile);
    if (access.order.ordering != AtomicOrdering::NotAtomic)
      store->setAtomic(access.order.ordering);
    markSpace(emitter, store, access.space);
  }
  return true;
}

// Hints only; their addresses may be anything.
bool emitPrefetch(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  takeStateSpace(modifiers);
  modifiers.takeOneOf({"L1", "L2"});
  return modifiers.done(1);
}

bool emitFence(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  modifiers.takeOneOf({"sc", "acq_rel"});
  int scope = modifiers.takeOneOf({"cta", "gl", "sys", "gpu"});
  if (scope < 0)
    return modifiers.refuse("needs a scope");
  if (!modifiers.done(0))
    return false;
  emitter.checkFence(scope != 0);
  // The threads of a block take turns on one core.
  emitter.builder.CreateFence(AtomicOrdering::SequentiallyConsistent,
                              scope == 0 ? llvm::SyncScope::SingleThread
                                         : llvm::SyncScope::System);
  return true;
}

} // namespace pascaline::emulator
