// HostFunctions.h - helpers that generated code calls by name.
//
// Operations too rare or too long to be worth instructions: directed rounding,
// halves from doubles, transcendental functions. Also what LLVM itself may call
// on hosts that lack an instruction. Generated code can name nothing else of
// the host. Test: test/emulator/TranslateFloatTest.cpp.
#pragma once

#include <vector>

namespace pascaline::emulator {

struct HostFunction {
  const char *name;
  void *address;
};

// With the hooks of Kernel.h.
const std::vector<HostFunction> &hostFunctions();

} // namespace pascaline::emulator
