// Layout.h - where a kernel's variables lie in its parameter, shared and local
// memory, and which functions it can reach.
//
// Only what a kernel reaches counts: a module of fifty kernels may declare
// fifty tiles of shared memory. Frames of device functions do not overlap,
// which is right because recursion is refused. Test:
// test/emulator/TranslateControlTest.cpp.
#pragma once

#include "runtime/emulator/Kernel.h"
#include "runtime/emulator/ptx/Diagnostic.h"
#include "runtime/emulator/ptx/Syntax.h"

#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace pascaline::emulator {

inline constexpr uint32_t kMaxParamBytes = 4096;
inline constexpr uint32_t kMaxStaticSharedBytes = 48 * 1024;

struct KernelLayout {
  // The kernel first, then what it calls, each once.
  std::vector<const ptx::Function *> functions;
  // Offsets within the variable's own space; parameters of device functions
  // and variables of the global window have none.
  std::unordered_map<const ptx::Variable *, uint32_t> offsets;
  KernelInfo info; // all but `function` and `switches`
};

// False: `diagnostic` says what does not fit or is not defined.
bool layOut(const ptx::Module &module, const ptx::Function &kernel,
            KernelLayout &layout, Diagnostic &diagnostic);
// For the device functions that no kernel reaches, to check them: offsets mean
// nothing, and recursion is no error.
bool layOutRest(const ptx::Module &module,
                const std::unordered_set<const ptx::Function *> &reached,
                KernelLayout &layout, Diagnostic &diagnostic);

} // namespace pascaline::emulator
