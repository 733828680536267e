// IntegerSupport.h - integer operations that several families use.
#pragma once

#include "runtime/emulator/translate/Emitter.h"

namespace pascaline::emulator {

enum class Part { None, Low, High, Wide };
Part takePart(Modifiers &modifiers); // .lo .hi .wide
Type widened(Type type);             // u16 -> u32; None for 64 bits

llvm::Value *multiply(Emitter &emitter, llvm::Value *a, llvm::Value *b,
                      Type type, Part part);
// Never traps: by zero gives all ones (or `a` as remainder), the least number
// by -1 gives itself (or 0).
llvm::Value *divide(Emitter &emitter, llvm::Value *a, llvm::Value *b,
                    bool isSigned, bool remainder);
// a + b + carryIn, or a - b - borrow, writing CC.CF.
llvm::Value *addWithCarry(Emitter &emitter, llvm::Value *a, llvm::Value *b,
                          llvm::Value *carryIn, bool subtract);
bool emitIntegerMultiplyAdd(Emitter &emitter, const Instruction &instruction,
                            Modifiers &modifiers, Type type, bool addCarry);

} // namespace pascaline::emulator
