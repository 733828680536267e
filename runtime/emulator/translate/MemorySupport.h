// MemorySupport.h - what loads, stores and atomics share.
#pragma once

#include "runtime/emulator/translate/Emitter.h"

namespace pascaline::emulator {

// .global .shared ...; Generic where none is named.
Space takeStateSpace(Modifiers &modifiers);
// Accesses to different spaces do not alias; generic ones may alias any.
void markSpace(Emitter &emitter, llvm::Instruction *access, Space space);

} // namespace pascaline::emulator
