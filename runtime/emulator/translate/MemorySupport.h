// MemorySupport.h - what loads, stores and atomics share.
#pragma once

#include "runtime/emulator/translate/Emitter.h"

namespace pascaline::emulator {

struct MemoryOrder {
  llvm::AtomicOrdering ordering = llvm::AtomicOrdering::NotAtomic;
  bool isVolatile = false;
};

// .weak .volatile .relaxed .acquire .release .acq_rel and the scope.
MemoryOrder takeMemoryOrder(Modifiers &modifiers);
// .global .shared ...; Generic where none is named.
Space takeStateSpace(Modifiers &modifiers);
// .ca .cg .cs .lu .cv .wb .wt and the newer eviction hints: no meaning here.
void takeCacheHints(Modifiers &modifiers);
// Accesses to different spaces do not alias; generic ones may alias any.
void markSpace(Emitter &emitter, llvm::Instruction *access, Space space);

} // namespace pascaline::emulator
