// The table of instructions. What is not here is refused by its line.
#include "runtime/emulator/translate/Opcodes.h"

#include "runtime/emulator/translate/Emitter.h"
#include "runtime/emulator/translate/Families.h"

#include <algorithm>
#include <iterator>

namespace pascaline::emulator {

// clang-format off
static constexpr Opcode kOpcodes[] = { // sorted by name
    {"abs", emitAbsoluteNegate},
    {"activemask", emitActiveMask},
    {"add", emitAddSubtract},
    {"addc", emitAddCarry},
    {"and", emitLogic},
    {"atom", emitAtomic},
    {"bar", emitBarrier},
    {"barrier", emitBarrier},
    {"bfe", emitExtract},
    {"bfi", emitInsert},
    {"bfind", emitFind},
    {"bra", emitBranch},
    {"brev", emitReverse},
    {"brkpt", emitTrap},
    {"brx", emitBranchIndexed},
    {"call", emitCall},
    {"clz", emitCount},
    {"cnot", emitLogicalNot},
    {"copysign", emitCopySign},
    {"cos", emitTranscendental},
    {"cvt", emitConvert},
    {"cvta", emitConvertAddress},
    {"div", emitDivide},
    {"dp2a", emitDotProduct},
    {"dp4a", emitDotProduct},
    {"ex2", emitTranscendental},
    {"exit", emitExit},
    {"fma", emitMultiplyAdd},
    {"isspacep", emitIsSpace},
    {"ld", emitLoad},
    {"ldu", emitLoad},
    {"lg2", emitTranscendental},
    {"lop3", emitLogic3},
    {"mad", emitMultiplyAdd},
    {"mad24", emitMultiply24},
    {"madc", emitMultiplyAddCarry},
    {"max", emitMinMax},
    {"membar", emitFence},
    {"min", emitMinMax},
    {"mov", emitMove},
    {"mul", emitMultiply},
    {"mul24", emitMultiply24},
    {"neg", emitAbsoluteNegate},
    {"not", emitNot},
    {"or", emitLogic},
    {"pmevent", emitNothing},
    {"popc", emitCount},
    {"prefetch", emitPrefetch},
    {"prefetchu", emitPrefetch},
    {"prmt", emitPermute},
    {"rcp", emitReciprocal},
    {"red", emitAtomic},
    {"rem", emitRemainder},
    {"ret", emitReturn},
    {"rsqrt", emitTranscendental},
    {"sad", emitSumOfAbsoluteDifferences},
    {"selp", emitSelect},
    {"set", emitSet},
    {"setp", emitSetPredicate},
    {"shf", emitFunnelShift},
    {"shfl", emitShuffle},
    {"shl", emitShift},
    {"shr", emitShift},
    {"sin", emitTranscendental},
    {"slct", emitSelectBySign},
    {"sqrt", emitSquareRoot},
    {"st", emitStore},
    {"sub", emitAddSubtract},
    {"subc", emitAddCarry},
    {"suld", emitUnsupported},
    {"suq", emitUnsupported},
    {"sured", emitUnsupported},
    {"sust", emitUnsupported},
    {"testp", emitTestProperty},
    {"tex", emitTexture},
    {"tld4", emitUnsupported},
    {"trap", emitTrap},
    {"txq", emitUnsupported},
    {"vote", emitVote},
    {"xor", emitLogic},
};
// clang-format on

const Opcode *findOpcode(std::string_view name) {
  const Opcode *found =
      std::lower_bound(std::begin(kOpcodes), std::end(kOpcodes), name,
                       [](const Opcode &opcode, std::string_view wanted) {
                         return opcode.name < wanted;
                       });
  return found != std::end(kOpcodes) && found->name == name ? found : nullptr;
}

std::vector<std::string_view> supportedOpcodes() {
  std::vector<std::string_view> names;
  for (const Opcode &opcode : kOpcodes)
    if (opcode.emit != emitUnsupported)
      names.push_back(opcode.name);
  return names;
}

bool emitUnsupported(Emitter &emitter, const Instruction &instruction) {
  return emitter.unsupported(instruction,
                             "'" + std::string(instruction.opcode) +
                                 "' is not supported by the emulator");
}

} // namespace pascaline::emulator
