// Sanitize.cpp - calls of the sanitizer's hooks before accesses, barriers and
// fences. Only modules translated for it have any; see Kernel.h.
//
// Most accesses of a fast kernel are loads from shared memory that other
// threads have loaded in the same barrier interval. Those are right if the
// record of shared memory says so in one word (SharedChecks), which is compared
// in place; calls are for the rest. Tests: test/emulator/Sanitizer*Test.cpp.
#include "runtime/emulator/translate/AccessGroups.h"
#include "runtime/emulator/translate/Emitter.h"

#include "llvm/IR/MDBuilder.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace pascaline::emulator {

using llvm::Value;

// The address as the PTX computes it, before it is confined to a window and
// without the displacement; where it names a variable, the offset in the
// variable's space or the host address.
Value *Emitter::unconfinedBase(const Instruction &at, const Operand &operand,
                               Space &space, Value *pointer) {
  const Operand &base = operand.elements[0];
  llvm::Type *i64 = builder.getInt64Ty();
  if (base.is(Operand::Kind::Variable)) {
    const ptx::Variable *variable = base.variable;
    space = variable->space;
    if (space == Space::Shared || space == Space::Local)
      return builder.getInt64(layout.offsets.at(variable));
    return builder.CreateSub(builder.CreatePtrToInt(pointer, i64),
                             builder.getInt64(operand.value));
  }
  bool narrow = base.is(Operand::Kind::Register) &&
                ptx::bitsOf(function.registers[base.index].type) == 32;
  Value *value = read(at, base, narrow ? Type::U32 : Type::U64);
  value = builder.CreateZExt(value, i64);
  if (space == Space::Shared)
    value = builder.CreateAnd(value, builder.getInt64(0xffffffff));
  return value;
}

// Goes on in a new block, and to `slow` where `fine` is false.
void Emitter::continueIf(Value *fine, llvm::BasicBlock *slow) {
  llvm::BasicBlock *next = newBlock();
  builder.CreateCondBr(fine, next, slow,
                       llvm::MDBuilder(context).createLikelyBranchWeights());
  startBlock(next);
}

// Local memory and parameters: nothing but bounds and alignment.
void Emitter::checkOffset(const Instruction &at, const char *hook,
                          Value *offset, uint64_t bytes, uint64_t limit) {
  Value *fine = builder.CreateICmpEQ(builder.CreateAnd(offset, bytes - 1),
                                     builder.getInt64(0));
  Value *inside = builder.CreateICmpULE(
      offset, builder.getInt64(std::max(limit, bytes) - bytes));
  fine = limit < bytes ? builder.getFalse() : builder.CreateAnd(fine, inside);
  llvm::BasicBlock *slow = newBlock();
  continueIf(fine, slow);
  llvm::IRBuilder<>::InsertPointGuard guard(builder);
  llvm::BasicBlock *next = builder.GetInsertBlock();
  startBlock(slow);
  callHook(hook, {offset, builder.getInt64(limit),
                  builder.getInt64(packedAccess(at, bytes))});
  builder.CreateBr(next);
}

// Are all these plain loads from shared memory settled? Else to `slow`.
void Emitter::checkSettled(const AccessGroup &group, Value *base,
                           llvm::BasicBlock *slow) {
  const AccessGroup::Member *widest = &group.members[0];
  int64_t first = widest->displacement, end = first;
  for (const AccessGroup::Member &member : group.members) {
    if (member.bytes > widest->bytes)
      widest = &member;
    first = std::min(first, member.displacement);
    end = std::max(end, member.displacement + member.bytes);
  }
  llvm::Type *i32 = builder.getInt32Ty(), *i64 = builder.getInt64Ty();
  llvm::Type *pointer = builder.getPtrTy();
  Value *checks =
      entryLoad(pointer, offsetof(ThreadState, checks), "checks", 0);
  auto part = [&](llvm::Type *type, uint64_t offset) {
    llvm::LoadInst *load = builder.CreateLoad(
        type, builder.CreateConstGEP1_64(builder.getInt8Ty(), checks, offset));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                      llvm::MDNode::get(context, {}));
    return load;
  };
  Value *limit = builder.CreateBinaryIntrinsic(
      llvm::Intrinsic::usub_sat, part(i64, offsetof(SharedChecks, bytes)),
      builder.getInt64(end - first - 1));
  Value *start = builder.CreateAdd(base, builder.getInt64(first));
  Value *aligned = builder.CreateAnd(
      builder.CreateAdd(base, builder.getInt64(widest->displacement)),
      widest->bytes - 1);
  continueIf(
      builder.CreateAnd(builder.CreateICmpULT(start, limit),
                        builder.CreateICmpEQ(aligned, builder.getInt64(0))),
      slow);

  uint8_t shift = layout.info.sharedGranuleShift;
  Value *settled = part(pointer, offsetof(SharedChecks, settled));
  Value *now =
      builder.CreateLoad(i32, part(pointer, offsetof(SharedChecks, now)));
  settled = builder.CreateGEP(i32, settled, builder.CreateLShr(start, shift));
  std::map<uint32_t, Value *> unlike; // by the number of granules
  for (const AccessGroup::Member &member : group.members) {
    uint32_t count = member.bytes >> shift;
    llvm::Type *type = llvm::FixedVectorType::get(i32, count);
    Value *at = builder.CreateConstGEP1_64(
        i32, settled, uint64_t(member.displacement - first) >> shift);
    Value *ticks = builder.CreateAlignedLoad(type, at, llvm::Align(4));
    Value *bits =
        builder.CreateXor(ticks, builder.CreateVectorSplat(count, now));
    Value *&all = unlike[count];
    all = all ? builder.CreateOr(all, bits) : bits;
  }
  Value *fine = nullptr;
  for (auto [count, bits] : unlike) {
    Value *whole = builder.CreateBitCast(bits, builder.getIntNTy(32 * count));
    Value *none = builder.CreateIsNull(whole);
    fine = fine ? builder.CreateAnd(fine, none) : none;
  }
  continueIf(fine, slow);
}

// `pointer` is what address() gave.
void Emitter::checkAccess(const Instruction &at, const Operand &operand,
                          Space space, uint64_t bytes, Value *pointer) {
  size_t index = &at - function.body.data();
  if (checked.empty())
    checked.resize(function.body.size());
  if (checked[index])
    return;
  Value *base = unconfinedBase(at, operand, space, pointer);
  Value *value = builder.CreateAdd(base, builder.getInt64(operand.value));
  if (space == Space::Local)
    return checkOffset(at, "pascalineEmulatorBadLocal", value, bytes,
                       layout.info.localBytes);
  if (space == Space::Param) {
    // By name they are checked when the module is loaded; a function's own
    // are slots on the host's stack, of which an address is only a number.
    if (!operand.elements[0].is(Operand::Kind::Variable) && function.isEntry)
      checkOffset(at, "pascalineEmulatorBadParam", value, bytes,
                  layout.info.paramBytes);
    return;
  }

  AccessGroup group = AccessGroup::startingAt(function, index);
  std::vector<llvm::Constant *> rows;
  auto *row = llvm::StructType::get(builder.getInt64Ty(), builder.getInt64Ty());
  for (const AccessGroup::Member &member : group.members) {
    checked[member.instruction - function.body.data()] = true;
    rows.push_back(llvm::ConstantStruct::get(
        row, builder.getInt64(member.displacement),
        builder.getInt64(packedAccess(*member.instruction, member.bytes))));
  }
  auto *type = llvm::ArrayType::get(row, rows.size());
  auto *table = new llvm::GlobalVariable(module, type, /*isConstant=*/true,
                                         llvm::GlobalValue::PrivateLinkage,
                                         llvm::ConstantArray::get(type, rows));
  Value *count = builder.getInt32(rows.size());

  MemoryAccess access = MemoryAccess::of(at);
  bool shared = space == Space::Shared;
  const char *hook =
      shared ? "pascalineEmulatorCheckShared" : "pascalineEmulatorCheckGlobal";
  if (!shared || access.strong || access.kind != MemoryAccess::Kind::Load)
    return callHook(hook, {base, table, count});
  llvm::BasicBlock *slow = newBlock();
  checkSettled(group, base, slow);
  llvm::BasicBlock *next = newBlock();
  builder.CreateBr(next);
  startBlock(slow);
  callHook(hook, {base, table, count});
  builder.CreateBr(next);
  startBlock(next);
}

void Emitter::checkBarrier(const Instruction &at, Value *id, Value *count,
                           bool waits) {
  if (!layout.info.sanitized)
    return;
  callHook("pascalineEmulatorCheckBarrier",
           {id, count, builder.getInt32(at.line), builder.getInt32(waits)});
}

void Emitter::checkFence(bool beyondBlock) {
  if (layout.info.sanitized)
    callHook("pascalineEmulatorCheckFence", {builder.getInt32(beyondBlock)});
}

} // namespace pascaline::emulator
