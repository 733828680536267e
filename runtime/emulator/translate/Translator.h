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
#include "runtime/emulator/ptx/Diagnostic.h" // ErrorKind

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pascaline::emulator {

class TranslatedModule {
public:
  // Parses and checks `ptx` (a trailing NUL is ignored). On failure returns
  // null, appends "line N: ..." to *log and sets *kind. With `sanitize` the
  // code calls the Check hooks of Kernel.h, with `count` the Count hooks.
  static std::unique_ptr<TranslatedModule>
  create(std::string_view ptx, std::string *log, ErrorKind *kind,
         bool sanitize = false, bool count = false);
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
