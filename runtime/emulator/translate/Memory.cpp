// ld, st, prefetch and fences.
#include "runtime/emulator/translate/Families.h"
#include "runtime/emulator/translate/MemorySupport.h"

namespace pascaline::emulator {

using llvm::AtomicOrdering;
using llvm::Value;

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
  bool isVolatile = false;
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

// `hints`: the cache operators there are, which have no meaning here.
bool takeAccess(Modifiers &modifiers, Access &access,
                std::initializer_list<std::string_view> hints) {
  access.isVolatile = modifiers.take("volatile");
  access.space = takeStateSpace(modifiers);
  bool hinted = modifiers.takeOneOf(hints) >= 0;
  if (access.isVolatile &&
      (hinted || access.space == Space::Local || access.space == Space::Const ||
       access.space == Space::Param))
    return modifiers.refuse(".volatile is for generic, .global and .shared "
                            "addresses and takes no cache operator");
  int vector = modifiers.takeOneOf({"v2", "v4"});
  access.count = vector < 0 ? 1 : vector == 0 ? 2 : 4;
  access.type = modifiers.takeType();
  if (!ptx::isPlainValue(access.type))
    return modifiers.refuse("needs an integer type, .f32 or .f64");
  if (access.bytes() > 16)
    return modifiers.refuse("accesses more than 16 bytes");
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
  bool uniform = instruction.opcode == "ldu", constant = false;
  if (!uniform)
    constant = modifiers.take("nc");
  access.invariant = uniform || constant;
  std::vector<const Operand *> registers;
  if (!(uniform ? takeAccess(modifiers, access, {})
        : constant
            ? takeAccess(modifiers, access, {"ca", "cg", "cs"})
            : takeAccess(modifiers, access, {"ca", "cg", "cs", "lu", "cv"})))
    return false;
  if (access.invariant &&
      (access.isVolatile || !(access.space == Space::Global ||
                              (uniform && access.space == Space::Generic))))
    return modifiers.refuse(
        ".nc and ldu are for .global memory, without .volatile");
  if (!modifiers.done(2) ||
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
        access.isVolatile);
    if (access.invariant)
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
  if (!takeAccess(modifiers, access, {"wb", "cg", "cs", "wt"}) ||
      !modifiers.done(2) ||
      !elements(instruction, modifiers, instruction.operands[1], access.count,
                registers))
    return false;
  if (access.space == Space::Const)
    return modifiers.refuse(".const cannot be written");
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
        access.isVolatile);
    markSpace(emitter, store, access.space);
  }
  return true;
}

// Hints only; their addresses may be anything.
bool emitPrefetch(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  bool uniform = instruction.opcode == "prefetchu";
  if (!uniform)
    modifiers.takeOneOf({"global", "local"});
  if (!modifiers.take("L1") && (uniform || !modifiers.take("L2")))
    return modifiers.refuse(uniform ? "needs .L1" : "needs .L1 or .L2");
  return modifiers.done(1);
}

bool emitFence(Emitter &emitter, const Instruction &instruction) {
  Modifiers modifiers(emitter, instruction);
  int scope = modifiers.takeOneOf({"cta", "gl", "sys"});
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
