// Families.h - the emitting functions, a family of instructions a file.
//
// Each takes an instruction whose opcode the table in Opcodes.cpp maps to it,
// checks modifiers and operands and emits IR; false after an error.
// Tests: test/emulator/Translate<Family>Test.cpp.
#pragma once

namespace pascaline::emulator {

namespace ptx {
struct Instruction;
}
class Emitter;

#define PASCALINE_EMULATOR_EMIT(name)                                          \
  bool name(Emitter &emitter, const ptx::Instruction &instruction)

// Arithmetic.cpp: either kind, by type
PASCALINE_EMULATOR_EMIT(emitAddSubtract);
PASCALINE_EMULATOR_EMIT(emitMultiply);
PASCALINE_EMULATOR_EMIT(emitMultiplyAdd); // mad, fma
PASCALINE_EMULATOR_EMIT(emitDivide);
PASCALINE_EMULATOR_EMIT(emitAbsoluteNegate);
PASCALINE_EMULATOR_EMIT(emitMinMax);
// IntegerArithmetic.cpp
PASCALINE_EMULATOR_EMIT(emitAddCarry); // addc, subc
PASCALINE_EMULATOR_EMIT(emitMultiplyAddCarry);
PASCALINE_EMULATOR_EMIT(emitMultiply24);
PASCALINE_EMULATOR_EMIT(emitSumOfAbsoluteDifferences);
PASCALINE_EMULATOR_EMIT(emitRemainder);
PASCALINE_EMULATOR_EMIT(emitDotProduct); // dp4a, dp2a
// FloatFunctions.cpp
PASCALINE_EMULATOR_EMIT(emitReciprocal);
PASCALINE_EMULATOR_EMIT(emitSquareRoot);
PASCALINE_EMULATOR_EMIT(emitTranscendental); // rsqrt sin cos lg2 ex2
PASCALINE_EMULATOR_EMIT(emitCopySign);
PASCALINE_EMULATOR_EMIT(emitTestProperty);
// Logic.cpp
PASCALINE_EMULATOR_EMIT(emitLogic); // and or xor
PASCALINE_EMULATOR_EMIT(emitNot);
PASCALINE_EMULATOR_EMIT(emitLogicalNot); // cnot
PASCALINE_EMULATOR_EMIT(emitShift);
PASCALINE_EMULATOR_EMIT(emitFunnelShift);
PASCALINE_EMULATOR_EMIT(emitLogic3);
// Bits.cpp
PASCALINE_EMULATOR_EMIT(emitPermute);
PASCALINE_EMULATOR_EMIT(emitExtract); // bfe
PASCALINE_EMULATOR_EMIT(emitInsert);  // bfi
PASCALINE_EMULATOR_EMIT(emitFind);    // bfind
PASCALINE_EMULATOR_EMIT(emitReverse); // brev
PASCALINE_EMULATOR_EMIT(emitCount);   // popc, clz
// Compare.cpp
PASCALINE_EMULATOR_EMIT(emitSetPredicate);
PASCALINE_EMULATOR_EMIT(emitSet);
PASCALINE_EMULATOR_EMIT(emitSelect);       // selp
PASCALINE_EMULATOR_EMIT(emitSelectBySign); // slct
// Move.cpp
PASCALINE_EMULATOR_EMIT(emitMove);
PASCALINE_EMULATOR_EMIT(emitConvertAddress); // cvta
PASCALINE_EMULATOR_EMIT(emitIsSpace);
// Convert.cpp
PASCALINE_EMULATOR_EMIT(emitConvert);
// Memory.cpp
PASCALINE_EMULATOR_EMIT(emitLoad);
PASCALINE_EMULATOR_EMIT(emitStore);
PASCALINE_EMULATOR_EMIT(emitPrefetch);
PASCALINE_EMULATOR_EMIT(emitFence);
// Atomic.cpp
PASCALINE_EMULATOR_EMIT(emitAtomic); // atom, red
// Control.cpp
PASCALINE_EMULATOR_EMIT(emitBranch);
PASCALINE_EMULATOR_EMIT(emitBranchIndexed);
PASCALINE_EMULATOR_EMIT(emitCall);
PASCALINE_EMULATOR_EMIT(emitReturn); // ret
PASCALINE_EMULATOR_EMIT(emitExit);
PASCALINE_EMULATOR_EMIT(emitTrap);
PASCALINE_EMULATOR_EMIT(emitNothing); // pmevent
// Synchronize.cpp
PASCALINE_EMULATOR_EMIT(emitBarrier); // bar, barrier
PASCALINE_EMULATOR_EMIT(emitShuffle);
PASCALINE_EMULATOR_EMIT(emitVote);
PASCALINE_EMULATOR_EMIT(emitActiveMask);
// Texture.cpp
PASCALINE_EMULATOR_EMIT(emitTexture); // tex
// Opcodes.cpp
PASCALINE_EMULATOR_EMIT(emitUnsupported); // txq, suld, ...

#undef PASCALINE_EMULATOR_EMIT

} // namespace pascaline::emulator
