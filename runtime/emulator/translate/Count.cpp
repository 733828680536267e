#include "runtime/emulator/translate/Count.h"
#include "runtime/emulator/translate/Emitter.h"

#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Dominators.h"

#include <algorithm>

namespace pascaline::emulator {

using llvm::Value;

namespace {

// Lanes may go on elsewhere, or at another time, after these.
bool endsBlock(const Instruction &instruction) {
  switch (classOf(instruction)) {
  case InstructionClass::branch:
  case InstructionClass::control:
  case InstructionClass::barrier:
  case InstructionClass::shuffle:
  case InstructionClass::vote:
    return true;
  default:
    return false;
  }
}

bool isGuarded(const Instruction &instruction) {
  return instruction.predicate != Instruction::kAlways;
}

bool isJump(const Instruction &instruction) {
  return instruction.opcode == "bra" || instruction.opcode == "brx";
}

bool isAccess(const Instruction &instruction) {
  switch (classOf(instruction)) {
  case InstructionClass::load_param:
  case InstructionClass::store_param:
    return false;
  default:
    return instruction.opcode == "ld" || instruction.opcode == "ldu" ||
           instruction.opcode == "st" || instruction.opcode == "atom" ||
           instruction.opcode == "red";
  }
}

} // namespace

BlockCounter::BlockCounter(Emitter &emitter, CountPlan &plan)
    : emitter(emitter), plan(plan) {
  cutIntoBlocks();
}

void BlockCounter::cutIntoBlocks() {
  const auto &body = emitter.function.body;
  std::vector<bool> starts(body.size() + 1);
  for (const ptx::Label &label : emitter.function.labels)
    starts[label.instruction] = true;
  uint32_t slots = 0;
  for (size_t i = 0; i < body.size(); ++i) {
    bool slot = isAccess(body[i]) || isGuarded(body[i]);
    if (i == 0 || endsBlock(body[i - 1]) || (slot && slots == kMaxSlots))
      starts[i] = true;
    if (starts[i]) {
      if (!blocks.empty())
        blocks.back().last = i;
      blocks.push_back({i, body.size(), {}, {}});
      slots = 0;
    }
    slots += slot;
  }
}

void BlockCounter::start() {
  llvm::IRBuilder<> &builder = emitter.builder;
  emitter.switches = true;
  bool called = !emitter.function.isEntry;
  lane = emitter.callHook("pascalineEmulatorCountEnter", builder.getPtrTy(),
                          {builder.getInt32(called)});
}

uint32_t BlockCounter::blockAt(size_t instruction) const {
  auto after = std::upper_bound(
      blocks.begin(), blocks.end(), instruction,
      [](size_t at, const Block &block) { return at < block.first; });
  return uint32_t(after - blocks.begin()) - 1;
}

Value *BlockCounter::place(size_t slot) {
  llvm::IRBuilder<> &builder = emitter.builder;
  return builder.CreateConstGEP1_64(builder.getInt64Ty(), lane,
                                    uint64_t(slot) * kWarpLanes);
}

void BlockCounter::before(size_t index) {
  llvm::IRBuilder<> &builder = emitter.builder;
  instruction = &emitter.function.body[index];
  hasAccessed = false;
  current = blockAt(index);
  Block &block = blocks[current];
  // A kernel's first block needs no call unless somebody jumps to it.
  if (index == block.first &&
      (index != 0 || !emitter.function.isEntry || isLabelled())) {
    emitter.callHook("pascalineEmulatorCountBlock", {builder.getInt32(0)});
    arrivals.push_back(
        {llvm::cast<llvm::CallInst>(&builder.GetInsertBlock()->back()),
         current});
  }
  InstructionClass kind = classOf(*instruction);
  bool chooses = isGuarded(*instruction) || instruction->opcode == "brx";
  bool guarded = isGuarded(*instruction) && !isJump(*instruction);
  ++block.counted.issued[size_t(kind)];
  block.counted.branches = isJump(*instruction) && chooses;
  if (!guarded && !isAccess(*instruction))
    ++block.counted.unguarded[size_t(kind)];
  if (!guarded)
    return;
  Value *initial = builder.getInt64(kNotAccessed);
  if (!isAccess(*instruction)) {
    Operand guard;
    guard.kind = Operand::Kind::Register;
    guard.index = instruction->predicate;
    guard.negated = instruction->predicateNegated;
    if (Value *on = emitter.read(*instruction, guard, Type::Pred))
      initial = builder.CreateZExt(on, builder.getInt64Ty());
  }
  builder.CreateStore(initial, place(block.slots.size()));
  block.slots.push_back({kind, true, false, {}, {}, 0});
}

bool BlockCounter::isLabelled() const {
  for (const ptx::Label &label : emitter.function.labels)
    if (label.instruction == 0)
      return true;
  return false;
}

bool BlockCounter::access(const Operand &operand, Space space, uint64_t bytes,
                          Value *pointer) {
  llvm::IRBuilder<> &builder = emitter.builder;
  if (!isAccess(*instruction))
    return true; // of parameters
  if (hasAccessed)
    return emitter.diagnostic.fail(ErrorKind::Internal, instruction->line,
                                   "'" + instruction->fullName() +
                                       "' accesses more than one address");
  hasAccessed = true;
  if (operand.elements[0].is(Operand::Kind::Variable))
    space = operand.elements[0].variable->space;
  auto &slots = blocks[current].slots;
  bool guarded = isGuarded(*instruction);
  if (!guarded)
    slots.push_back({classOf(*instruction), false, false, {}, {}, 0});
  CountedSlot &slot = slots.back();
  if (space == Space::Param) { // addressed as generic: an instruction, no more
    builder.CreateStore(builder.getInt64(1), place(slots.size() - 1));
    return true;
  }
  slot.accesses = true;
  slot.space = space == Space::Global   ? CountedSpace::Global
               : space == Space::Shared ? CountedSpace::Shared
               : space == Space::Local  ? CountedSpace::Local
               : space == Space::Const  ? CountedSpace::Const
                                        : CountedSpace::Generic;
  std::string_view name = instruction->opcode;
  slot.access = name == "st"                      ? CountedAccess::Store
                : name == "atom" || name == "red" ? CountedAccess::Atomic
                                                  : CountedAccess::Load;
  slot.bytes = uint8_t(bytes);
  builder.CreateStore(builder.CreatePtrToInt(pointer, builder.getInt64Ty()),
                      place(slots.size() - 1));
  return true;
}

void BlockCounter::leave() {
  emitter.callHook(emitter.function.isEntry ? "pascalineEmulatorCountExit"
                                            : "pascalineEmulatorCountReturn",
                   {});
}

// By where control goes when it leaves the block; not into calls.
std::vector<uint32_t> BlockCounter::successors(uint32_t index) const {
  const ptx::Function &function = emitter.function;
  const Instruction &last = function.body[blocks[index].last - 1];
  std::vector<uint32_t> found;
  auto jumpTo = [&](const Operand &label) {
    if (label.is(Operand::Kind::Label) &&
        function.labels[label.index].instruction < function.body.size())
      found.push_back(blockAt(function.labels[label.index].instruction));
  };
  if (last.opcode == "bra") {
    jumpTo(last.operands[0]);
  } else if (last.opcode == "brx") {
    for (const Operand &target :
         function.branchTables[last.operands[1].index].targets)
      jumpTo(target);
  }
  bool ends = isJump(last) || last.opcode == "ret" || last.opcode == "exit" ||
              last.opcode == "trap" || last.opcode == "brkpt";
  if ((!ends || isGuarded(last)) && index + 1 < blocks.size())
    found.push_back(index + 1);
  return found;
}

// Blocks such that each comes before those that can follow it, but for the way
// back to the start of a loop; and a loop as a whole before what comes after
// it. LLVM finds the loops in a function of the same shape.
std::vector<uint32_t> BlockCounter::inOrder() const {
  llvm::Module scratch("", emitter.context);
  auto *shape = llvm::Function::Create(
      llvm::FunctionType::get(emitter.builder.getVoidTy(), false),
      llvm::GlobalValue::ExternalLinkage, "", scratch);
  llvm::IRBuilder<> builder(emitter.context);
  auto *entry = llvm::BasicBlock::Create(emitter.context, "", shape);
  std::vector<llvm::BasicBlock *> nodes;
  llvm::DenseMap<const llvm::BasicBlock *, uint32_t> numbers;
  for (uint32_t i = 0; i < blocks.size(); ++i) {
    nodes.push_back(llvm::BasicBlock::Create(emitter.context, "", shape));
    numbers[nodes[i]] = i;
  }
  builder.SetInsertPoint(entry);
  builder.CreateBr(nodes[0]);
  for (uint32_t i = 0; i < blocks.size(); ++i) {
    builder.SetInsertPoint(nodes[i]);
    std::vector<uint32_t> next = successors(i);
    if (next.empty()) {
      builder.CreateRetVoid();
      continue;
    }
    auto *choice = builder.CreateSwitch(builder.getInt32(0), nodes[next[0]]);
    for (uint32_t k = 1; k < next.size(); ++k)
      choice->addCase(builder.getInt32(k), nodes[next[k]]);
  }

  llvm::DominatorTree tree(*shape);
  llvm::LoopInfo loops(tree);
  // In reverse post-order a loop's header comes first among its blocks: there
  // the whole loop takes its place among what surrounds it.
  struct Item {
    const llvm::Loop *loop; // or null: a block
    uint32_t block;
  };
  llvm::DenseMap<const llvm::Loop *, std::vector<Item>> contents;
  llvm::ReversePostOrderTraversal<llvm::Function *> order(shape);
  std::vector<bool> reached(blocks.size());
  for (llvm::BasicBlock *node : order) {
    if (node == entry)
      continue;
    const llvm::Loop *loop = loops.getLoopFor(node);
    if (loop && loop->getHeader() == node)
      contents[loop->getParentLoop()].push_back({loop, 0});
    contents[loop].push_back({nullptr, numbers[node]});
    reached[numbers[node]] = true;
  }
  std::vector<uint32_t> result;
  std::vector<Item> left; // a stack
  auto open = [&](const llvm::Loop *loop) {
    std::vector<Item> &items = contents[loop];
    left.insert(left.end(), items.rbegin(), items.rend());
  };
  for (open(nullptr); !left.empty();) {
    Item item = left.back();
    left.pop_back();
    if (item.loop)
      open(item.loop);
    else
      result.push_back(item.block);
  }
  for (uint32_t i = 0; i < blocks.size(); ++i)
    if (!reached[i])
      result.push_back(i);
  return result;
}

void BlockCounter::finish() {
  if (blocks.empty())
    return;
  std::vector<uint32_t> numbers(blocks.size());
  for (uint32_t index : inOrder()) {
    Block &block = blocks[index];
    numbers[index] = uint32_t(plan.blocks.size());
    block.counted.firstSlot = uint32_t(plan.slots.size());
    block.counted.slotCount = uint32_t(block.slots.size());
    plan.blocks.push_back(block.counted);
    plan.slots.insert(plan.slots.end(), block.slots.begin(), block.slots.end());
  }
  for (const Arrival &arrival : arrivals)
    arrival.call->setArgOperand(
        1, emitter.builder.getInt32(numbers[arrival.block]));
  if (emitter.function.isEntry && !isLabelled())
    plan.entry = numbers[0];
}

} // namespace pascaline::emulator
