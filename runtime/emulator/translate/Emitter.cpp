#include "runtime/emulator/translate/Emitter.h"

#include <algorithm>

namespace pascaline::emulator {

using llvm::BasicBlock;
using llvm::IRBuilder;
using llvm::Value;

Emitter::Emitter(const ptx::Module &source, const KernelLayout &layout,
                 const ptx::Function &function, llvm::Function *code,
                 Diagnostic &diagnostic, CountPlan *counted)
    : source(source), layout(layout), function(function),
      context(code->getContext()), module(*code->getParent()), code(code),
      builder(code->getContext()), diagnostic(diagnostic),
      registerSlots(function.registers.size()) {
  if (counted)
    counter = std::make_unique<BlockCounter>(*this, *counted);
}

bool Emitter::run() {
  entry = BasicBlock::Create(context, "entry", code);
  BasicBlock *body = newBlock();
  builder.SetInsertPoint(entry);
  entryEnd = builder.CreateBr(body);
  builder.SetInsertPoint(body);
  chooseRegisterTypes();
  findAddressedParams();
  bindParams();
  for (size_t i = 0; i < function.labels.size(); ++i)
    labelBlocks.push_back(newBlock());
  if (counter)
    counter->start();
  size_t label = 0;
  for (size_t i = 0; i <= function.body.size(); ++i) {
    for (; label < function.labels.size() &&
           function.labels[label].instruction == i;
         ++label) {
      builder.CreateBr(labelBlocks[label]);
      startBlock(labelBlocks[label]);
    }
    if (counter && i < function.body.size())
      counter->before(i);
    if (i < function.body.size() && !emit(function.body[i]))
      return false;
  }
  leave(/*exits=*/false);
  if (counter)
    counter->finish();
  return true;
}

// A device function tells its caller whether the thread has exited.
void Emitter::leave(bool exits) {
  if (counter)
    counter->leave();
  if (function.isEntry) {
    builder.CreateRetVoid();
  } else {
    llvm::Argument *argument = code->arg_begin() + 1 + function.params.size();
    for (size_t i = 0; i < function.results.size(); ++i, ++argument)
      if (!function.results[i]) {
        llvm::AllocaInst *from = registerSlot(function.resultRegisters[i]);
        builder.CreateStore(builder.CreateLoad(from->getAllocatedType(), from),
                            argument);
      }
    builder.CreateRet(builder.getInt1(exits));
  }
}

bool Emitter::emit(const Instruction &instruction) {
  const Opcode *opcode = findOpcode(instruction.opcode);
  if (!opcode)
    return fail(instruction, "unknown instruction '" +
                                 instruction.fullName().substr(0, 80) + "'");
  if (instruction.predicate == Instruction::kAlways)
    return opcode->emit(*this, instruction);
  Value *guard = builder.CreateLoad(builder.getInt1Ty(),
                                    registerSlot(instruction.predicate));
  BasicBlock *guarded = newBlock(), *next = newBlock();
  if (instruction.predicateNegated)
    builder.CreateCondBr(guard, next, guarded);
  else
    builder.CreateCondBr(guard, guarded, next);
  startBlock(guarded);
  if (!opcode->emit(*this, instruction))
    return false;
  builder.CreateBr(next);
  startBlock(next);
  return true;
}

// A .b32 register that holds a float all its life is kept as one: integers in
// loops would hide the floats from the vectoriser.
void Emitter::chooseRegisterTypes() {
  std::vector<int> votes(function.registers.size());
  for (const Instruction &instruction : function.body) {
    if (instruction.modifiers.empty())
      continue;
    Type type = ptx::typeNamed(instruction.modifiers.back());
    bool neutral = ptx::isBits(type);
    bool floating = type == Type::F32 || type == Type::F64;
    if (neutral || type == Type::None)
      continue;
    for (const Operand &operand : instruction.operands) {
      if (operand.is(Operand::Kind::Register))
        votes[operand.index] += floating ? 1 : -1;
      for (const Operand &element : operand.elements)
        if (operand.is(Operand::Kind::Vector) &&
            element.is(Operand::Kind::Register))
          votes[element.index] += floating ? 1 : -1;
    }
  }
  floatRegisters.resize(votes.size());
  for (size_t i = 0; i < votes.size(); ++i) {
    Type type = function.registers[i].type;
    floatRegisters[i] =
        type == Type::F32 || type == Type::F64 ||
        ((type == Type::B32 || type == Type::B64) && votes[i] > 0);
  }
}

// Parameters that mov or the like use as a value.
void Emitter::findAddressedParams() {
  for (const Instruction &instruction : function.body)
    for (const Operand &operand : instruction.operands)
      if (operand.is(Operand::Kind::Variable) &&
          operand.variable->space == Space::Param && !function.isEntry &&
          std::find(addressedParams.begin(), addressedParams.end(),
                    operand.variable) == addressedParams.end())
        addressedParams.push_back(operand.variable);
}

llvm::AllocaInst *Emitter::slot(llvm::Type *type) {
  IRBuilder<> atEntry(entryEnd);
  llvm::AllocaInst *made = atEntry.CreateAlloca(type);
  atEntry.CreateStore(llvm::Constant::getNullValue(type), made);
  return made;
}

llvm::AllocaInst *Emitter::registerSlot(uint32_t number) {
  if (registerSlots[number])
    return registerSlots[number];
  unsigned size = ptx::bitsOf(function.registers[number].type);
  llvm::Type *type = builder.getIntNTy(size);
  if (floatRegisters[number])
    type = size == 32 ? builder.getFloatTy() : builder.getDoubleTy();
  return registerSlots[number] = slot(type);
}

Value *Emitter::carry() {
  if (!carrySlot)
    carrySlot = slot(builder.getInt1Ty());
  return carrySlot;
}

// Parameters of device functions come as pointers; those held in registers
// are copied in here and, for results, out by ret.
void Emitter::bindParams() {
  if (function.isEntry)
    return;
  llvm::Argument *argument = code->arg_begin() + 1;
  for (size_t i = 0; i < function.params.size(); ++i, ++argument) {
    if (function.params[i]) {
      paramPointers[function.params[i]] = argument;
      continue;
    }
    llvm::AllocaInst *slot = registerSlot(function.paramRegisters[i]);
    builder.CreateStore(builder.CreateLoad(slot->getAllocatedType(), argument),
                        slot);
  }
  for (const ptx::Variable *result : function.results) {
    if (result)
      paramPointers[result] = argument;
    ++argument;
  }
}

Value *Emitter::paramPointer(const ptx::Variable *variable) {
  Value *&pointer = paramPointers[variable];
  if (pointer)
    return pointer;
  auto placed = layout.offsets.find(variable);
  if (placed != layout.offsets.end()) {
    Value *base = paramBase();
    IRBuilder<> atEntry(entryEnd);
    return pointer = atEntry.CreateConstGEP1_64(builder.getInt8Ty(), base,
                                                placed->second);
  }
  llvm::AllocaInst *made =
      slot(llvm::ArrayType::get(builder.getInt8Ty(), variable->bytes));
  made->setAlignment(llvm::Align(std::max<uint32_t>(variable->align, 8)));
  return pointer = made;
}

Value *Emitter::entryLoad(llvm::Type *type, uint64_t offset, const char *name,
                          uint64_t below) {
  auto known = entryValues.find(std::string_view(name));
  if (known != entryValues.end())
    return known->second;
  IRBuilder<> atEntry(entryEnd);
  Value *pointer =
      atEntry.CreateConstGEP1_64(atEntry.getInt8Ty(), code->getArg(0), offset);
  llvm::LoadInst *load = atEntry.CreateLoad(type, pointer, name);
  load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                    llvm::MDNode::get(context, {}));
  if (below) {
    llvm::Metadata *range[] = {
        llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(type, 0)),
        llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(type, below))};
    load->setMetadata(llvm::LLVMContext::MD_range,
                      llvm::MDNode::get(context, range));
  }
  entryValues.emplace(name, load);
  return load;
}

void Emitter::noteLine(const Instruction &at) {
  Value *line = builder.CreateConstGEP1_64(builder.getInt8Ty(), code->getArg(0),
                                           offsetof(ThreadState, line));
  builder.CreateStore(builder.getInt32(at.line), line);
}

void Emitter::willWait(const Instruction &at) {
  switches = true;
  noteLine(at);
}

Value *Emitter::field(const char *name, uint64_t offset) {
  return entryLoad(builder.getPtrTy(), offset, name, 0);
}

Value *Emitter::special(const Instruction &at, std::string_view name) {
  llvm::Type *i32 = builder.getInt32Ty();
  // %tid.x -> "tid", dimension 0
  std::string_view base = name.substr(1);
  int dimension = -1;
  if (base.size() > 2 && base[base.size() - 2] == '.') {
    dimension = base.back() - 'x';
    base.remove_suffix(2);
  }
  struct Vector {
    std::string_view name;
    uint64_t offset;
    const char *loads[3];
    uint64_t below[3];
  };
  static constexpr Vector vectors[] = {
      {"tid",
       offsetof(ThreadState, tid),
       {"tid.x", "tid.y", "tid.z"},
       {1024, 1024, 64}},
      {"ntid",
       offsetof(ThreadState, ntid),
       {"ntid.x", "ntid.y", "ntid.z"},
       {1025, 1025, 65}},
      {"ctaid",
       offsetof(ThreadState, ctaid),
       {"ctaid.x", "ctaid.y", "ctaid.z"},
       {0x7fffffff, 65535, 65535}},
      {"nctaid",
       offsetof(ThreadState, nctaid),
       {"nctaid.x", "nctaid.y", "nctaid.z"},
       {0x80000000, 65536, 65536}},
  };
  for (const Vector &vector : vectors) {
    if (vector.name != base)
      continue;
    if (dimension >= 0 && dimension < 3)
      return entryLoad(i32, vector.offset + 4 * dimension,
                       vector.loads[dimension], vector.below[dimension]);
    if (name.ends_with(".w"))
      return builder.getInt32(0);
    fail(at, "'" + std::string(name) + "' needs .x, .y or .z");
    return nullptr;
  }
  Value *lane = entryLoad(i32, offsetof(ThreadState, laneId), "laneid", 32);
  Value *one = builder.getInt32(1);
  if (base == "laneid")
    return lane;
  if (base == "lanemask_eq")
    return builder.CreateShl(one, lane);
  if (base == "lanemask_lt")
    return builder.CreateSub(builder.CreateShl(one, lane), one);
  if (base == "lanemask_le")
    return builder.CreateLShr(builder.getInt32(~0u),
                              builder.CreateSub(builder.getInt32(31), lane));
  if (base == "lanemask_ge")
    return builder.CreateShl(builder.getInt32(~0u), lane);
  if (base == "lanemask_gt")
    return builder.CreateShl(builder.getInt32(~1u), lane);
  if (base == "warpid")
    return entryLoad(i32, offsetof(ThreadState, warpId), "warpid", 32);
  if (base == "smid")
    return entryLoad(i32, offsetof(ThreadState, smId), "smid", 0);
  if (base == "dynamic_smem_size" || base == "total_smem_size") {
    Value *dynamic = entryLoad(i32, offsetof(ThreadState, dynamicSharedBytes),
                               "dynamic shared", 0);
    if (base == "dynamic_smem_size")
      return dynamic;
    return builder.CreateAdd(dynamic,
                             builder.getInt32(layout.info.staticSharedBytes));
  }
  if (base == "nwarpid") {
    Value *threads = builder.getInt32(1);
    for (int i = 0; i < 3; ++i)
      threads = builder.CreateMul(
          threads, entryLoad(i32, vectors[1].offset + 4 * i,
                             vectors[1].loads[i], vectors[1].below[i]));
    return builder.CreateLShr(builder.CreateAdd(threads, builder.getInt32(31)),
                              builder.getInt32(5));
  }
  if (base == "gridid")
    return builder.getInt64(0);
  if (base == "clock" || base == "clock64" || base == "clock_hi") {
    Value *cycles =
        builder.CreateIntrinsic(llvm::Intrinsic::readcyclecounter, {}, {});
    if (base == "clock_hi")
      return builder.CreateLShr(cycles, builder.getInt64(32));
    return cycles;
  }
  if (base == "globaltimer" || base == "globaltimer_lo" ||
      base == "globaltimer_hi") {
    Value *time =
        callHost("pascalineEmulatorGlobalTimer", builder.getInt64Ty(), {});
    if (base == "globaltimer_hi")
      return builder.CreateLShr(time, builder.getInt64(32));
    return time;
  }
  unsupported(at, "special register '" + std::string(name) +
                      "' is not supported by the emulator");
  return nullptr;
}

} // namespace pascaline::emulator
