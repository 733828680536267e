// FloatSupport.h - what floating-point families share: rounding modes, .ftz,
// .sat, and operations in a directed rounding mode.
#pragma once

#include "runtime/emulator/translate/Emitter.h"

namespace pascaline::emulator {

// As HostFunctions.cpp numbers them.
enum Rounding : int { kNearest = 0, kZero = 1, kDown = 2, kUp = 3 };

struct FloatMode {
  int rounding = kNearest;
  bool flush = false;
  bool saturate = false;
  bool explicitRounding = false;
};

// Takes .rn .rz .rm .rp, .ftz and .sat.
FloatMode takeFloatMode(Modifiers &modifiers);
// False, with the error reported, where .f64 has .ftz or .sat.
bool checkFloatMode(Modifiers &modifiers, Type type, const FloatMode &mode);

bool isIntegerOperand(Type type); // 16 to 64 bits, .u or .s
bool isFloatOperand(Type type);   // .f16 .f16x2 .f32 .f64

// 0 to 1, NaN to 0.
llvm::Value *saturate(Emitter &emitter, llvm::Value *value);
// .ftz and .sat of a result.
llvm::Value *finish(Emitter &emitter, llvm::Value *value,
                    const FloatMode &mode);
// "Add" with mode rz on f32 calls pascalineEmulatorAdd32(a, b, 1). Null after
// an error: only f32 and f64 have directed modes.
llvm::Value *directed(Emitter &emitter, const Instruction &at,
                      const char *operation,
                      llvm::ArrayRef<llvm::Value *> arguments, int rounding);
llvm::Value *fusedMultiplyAdd(Emitter &emitter, llvm::Value *a, llvm::Value *b,
                              llvm::Value *c);
// LLVM would call a library for this that not every host has.
llvm::Value *doubleToHalf(Emitter &emitter, llvm::Value *value, int rounding);

// A float operand, flushed where the mode says so.
llvm::Value *readFloat(Emitter &emitter, const Instruction &at, size_t operand,
                       Type type, const FloatMode &mode);

} // namespace pascaline::emulator
