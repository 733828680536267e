#include "runtime/emulator/translate/AccessGroups.h"

#include <algorithm>
#include <bit>

namespace pascaline::emulator {

using ptx::Instruction;
using ptx::Operand;
using ptx::Space;

namespace {

// More would pay nothing, and hostile PTX is read in linear time.
constexpr size_t kMostMembers = 64, kReach = 2048;

// After these the thread may be elsewhere, or ordered after another one.
constexpr std::string_view kEnds[] = {
    "bra",  "brx",  "ret",        "exit",   "call",  "trap", "bar", "barrier",
    "shfl", "vote", "activemask", "membar", "fence", "atom", "red", "brkpt"};

bool ends(const Instruction &instruction) {
  return std::find(std::begin(kEnds), std::end(kEnds), instruction.opcode) !=
         std::end(kEnds);
}

bool writes(const Instruction &instruction, uint32_t number) {
  if (instruction.operands.empty() || instruction.opcode == "st")
    return false;
  auto is = [&](const Operand &operand) {
    return operand.is(Operand::Kind::Register) && operand.index == number;
  };
  const Operand &to = instruction.operands[0];
  return is(to) || std::any_of(to.elements.begin(), to.elements.end(), is);
}

bool mayOverlap(Space a, Space b) {
  auto unlike = [](Space space) {
    return space == Space::Const ? Space::Global : space;
  };
  return a == Space::Generic || b == Space::Generic || unlike(a) == unlike(b);
}

bool sameBase(const Operand &a, const Operand &b) {
  if (a.kind != b.kind)
    return false;
  return a.is(Operand::Kind::Register)   ? a.index == b.index
         : a.is(Operand::Kind::Variable) ? a.variable == b.variable
                                         : false;
}

} // namespace

MemoryAccess MemoryAccess::of(const Instruction &instruction) {
  MemoryAccess access;
  bool loads = instruction.opcode == "ld" || instruction.opcode == "ldu";
  bool atomic = instruction.opcode == "atom" || instruction.opcode == "red";
  if (!loads && !atomic && instruction.opcode != "st")
    return access;
  for (const Operand &operand : instruction.operands)
    if (operand.is(Operand::Kind::Address) && operand.elements.size() == 1) {
      access.address = &operand;
      break;
    }
  if (!access.address || instruction.modifiers.empty())
    return access;
  access.kind = atomic ? Kind::Atomic : loads ? Kind::Load : Kind::Store;
  for (std::string_view modifier : instruction.modifiers) {
    if (modifier == "volatile")
      access.strong = true;
    if (modifier.starts_with("shared"))
      access.space = Space::Shared;
    else if (modifier == "global")
      access.space = Space::Global;
    else if (modifier == "const")
      access.space = Space::Const;
    else if (modifier == "local")
      access.space = Space::Local;
    else if (modifier.starts_with("param"))
      access.space = Space::Param;
  }
  access.strong |= atomic;
  uint32_t count = instruction.has("v4") ? 4 : instruction.has("v2") ? 2 : 1;
  access.bytes =
      count * ptx::bytesOf(ptx::typeNamed(instruction.modifiers.back()));
  return access;
}

AccessGroup AccessGroup::startingAt(const ptx::Function &function,
                                    size_t first) {
  const std::vector<Instruction> &body = function.body;
  const Instruction &head = body[first];
  MemoryAccess access = MemoryAccess::of(head);
  AccessGroup group;
  group.members.push_back({&head, access.address->value, access.bytes});
  const Operand &base = access.address->elements[0];
  if (access.strong ||
      (!base.is(Operand::Kind::Register) && !base.is(Operand::Kind::Variable)))
    return group;

  auto label = std::lower_bound(
      function.labels.begin(), function.labels.end(), first + 1,
      [](const ptx::Label &l, size_t at) { return l.instruction < at; });
  size_t end = std::min(body.size(), first + kReach);
  if (label != function.labels.end())
    end = std::min<size_t>(end, label->instruction);
  auto changes = [&](const Instruction &instruction) {
    return (base.is(Operand::Kind::Register) &&
            writes(instruction, base.index)) ||
           (head.predicate != Instruction::kAlways &&
            writes(instruction, head.predicate));
  };
  uint32_t widest = access.bytes;
  int64_t aligned = access.address->value; // of the widest
  for (size_t i = first; i + 1 < end && !changes(body[i]) &&
                         group.members.size() < kMostMembers;) {
    const Instruction &next = body[++i];
    if (ends(next))
      break;
    MemoryAccess other = MemoryAccess::of(next);
    if (other.kind == MemoryAccess::Kind::None)
      continue;
    if (other.strong ||
        (other.kind != access.kind && mayOverlap(other.space, access.space)))
      break;
    if (other.kind != access.kind || other.space != access.space ||
        next.predicate != head.predicate ||
        next.predicateNegated != head.predicateNegated ||
        !sameBase(base, other.address->elements[0]) || !other.bytes)
      continue;
    // If the widest is aligned all are.
    int64_t displacement = other.address->value;
    if ((displacement - aligned) % std::min(widest, other.bytes))
      continue;
    if (other.bytes > widest) {
      bool all = std::all_of(
          group.members.begin(), group.members.end(),
          [&](const Member &member) {
            return (member.displacement - displacement) % member.bytes == 0;
          });
      if (!all)
        continue;
      widest = other.bytes;
      aligned = displacement;
    }
    group.members.push_back({&next, displacement, other.bytes});
  }
  return group;
}

uint64_t packedAccess(const Instruction &at, uint64_t bytes) {
  uint64_t packed = at.line | bytes << 32;
  MemoryAccess access = MemoryAccess::of(at);
  if (access.kind != MemoryAccess::Kind::Load)
    packed |= kAccessStores;
  if (access.kind == MemoryAccess::Kind::Atomic)
    packed |= kAccessAtomic;
  if (access.strong)
    packed |= kAccessStrong;
  return packed;
}

void noteAccesses(const ptx::Function &function, KernelInfo &info) {
  for (const Instruction &instruction : function.body) {
    std::string_view opcode = instruction.opcode;
    // A barrier with a count, or that does not wait, orders some threads.
    bool isBarrier = opcode == "bar" || opcode == "barrier";
    if (opcode == "shfl" || opcode == "vote" || opcode == "activemask" ||
        (isBarrier &&
         (instruction.has("warp") || instruction.has("arrive") ||
          instruction.operands.size() > (instruction.has("red") ? 3u : 1u))))
      info.ordersPartly = true;
    // A texture's texels have 1 to 16 bytes.
    if (opcode == "tex") {
      info.globalGranuleShift = 0;
      info.globalUnitShift = 4;
    }
    MemoryAccess access = MemoryAccess::of(instruction);
    if (access.kind == MemoryAccess::Kind::None || !access.bytes)
      continue;
    uint8_t shift = std::bit_width(std::min(access.bytes, 16u)) - 1;
    bool generic = access.space == Space::Generic;
    if (generic || access.space == Space::Shared) {
      info.sharedGranuleShift = std::min(info.sharedGranuleShift, shift);
      info.ordersPartly |= access.strong;
    }
    if (generic || access.space == Space::Global ||
        access.space == Space::Const) {
      info.globalGranuleShift = std::min(info.globalGranuleShift, shift);
      info.globalUnitShift = std::max(info.globalUnitShift, shift);
    }
  }
}

} // namespace pascaline::emulator
