// Translator.h - PTX text to host code: the translating half's whole interface.
//
// A module goes through two steps. create() parses and checks the text and says
// which variables it wants in memory; link() is told where they lie, compiles
// every kernel for this host (in parallel) and makes kernels()[i].function
// callable. No LLVM type shows here. See Kernel.h for what the code expects of
// the memory it runs on. Tests: test/emulator/Translate*Test.cpp.
//
// Threads: one thread at a time may call a module; different modules are
// independent. The functions may run on any thread, until the module dies.
#pragma once

#include "runtime/emulator/Kernel.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pascaline::emulator {

enum class ErrorKind {
  None,
  InvalidPtx,         // not PTX, or an instruction that is not known
  UnsupportedVersion, // .version newer than this parser knows
  UnsupportedTarget,  // .target above what the emulated device offers
  Unsupported,        // known to PTX, not to the emulator (textures, ...)
  Internal,           // the host compiler refused what was translated
};

class TranslatedModule {
public:
  // Parses and checks `ptx` (a trailing NUL is ignored). On failure returns
  // null, appends "line N: ..." to *log and sets *kind.
  static std::unique_ptr<TranslatedModule>
  create(std::string_view ptx, std::string *log, ErrorKind *kind);
  ~TranslatedModule();

  // .global and .const variables, in the order link() wants their addresses.
  // link() writes addresses of other variables into `initial` where an
  // initializer names one: copy `initial` to memory after link().
  const std::vector<ModuleVariable> &variables() const;

  // Compiles. Addresses lie in the global window. False: *log says why.
  bool link(const std::vector<uint64_t> &variableAddresses, std::string *log);

  // The module's .entry functions; `function` is null before link().
  const std::vector<KernelInfo> &kernels() const;

private:
  struct Implementation;
  explicit TranslatedModule(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation;
};

} // namespace pascaline::emulator
