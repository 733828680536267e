// TranslateTest.h - runs one PTX instruction, or one kernel, for one thread.
//
// evaluate() wraps an instruction in a kernel whose registers %d, %a, %b, %c
// have the C++ arguments' types, so that a test is one line beside the value
// it expects. The hooks of Kernel.h are served for a block of one thread and
// leave notes in `hookCalls`.
#pragma once

#include "runtime/emulator/translate/Translator.h"

#include <cstring>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

namespace pascaline::emulator::test {

inline std::vector<std::string> hookCalls;

// The opcodes in the text of every Program that was run.
inline std::set<std::string> executedOpcodes;

// Memory as Kernel.h describes it, for one thread; made once.
class Memory {
public:
  static Memory &instance();
  uint64_t base() const { return globalBase; }
  uint64_t shared() const { return sharedBase; }
  uint64_t local() const { return localBase; }
  uint64_t allocate(uint64_t bytes);
  void reset() { top = globalBase; }

private:
  Memory();
  uint64_t globalBase, sharedBase, localBase, top;
};

// A module, linked, with its variables in memory. `log` holds what went wrong.
class Program {
public:
  explicit Program(const std::string &ptx);
  bool ok() const { return module != nullptr && linked; }
  const KernelInfo &kernel(size_t i = 0) const { return module->kernels()[i]; }
  // Runs thread (0, 0, 0) of block (0, 0, 0) with these parameter bytes.
  void run(const void *params, size_t kernelNumber = 0) const;
  void run(ThreadState state, const void *params, size_t kernelNumber) const;

  std::unique_ptr<TranslatedModule> module;
  std::vector<uint64_t> addresses;
  std::string log;
  ErrorKind kind = ErrorKind::None;

private:
  std::set<std::string> opcodes;
  bool linked = false;
};

// "line N: ..." or "" for PTX that is accepted.
std::string refusal(const std::string &ptx, ErrorKind *kind = nullptr);
// The same for one instruction among registers of many types.
std::string instructionRefusal(const std::string &instruction);
// .version, .target and .address_size, then `text`; one line before it.
std::string withHeader(const std::string &text);

// The PTX type of a register that holds a C++ type.
template <typename T> constexpr const char *registerType() {
  if (std::is_same_v<T, bool>)
    return "pred";
  if (std::is_same_v<T, float>)
    return "f32";
  if (std::is_same_v<T, double>)
    return "f64";
  return sizeof(T) == 2 ? "b16" : sizeof(T) == 4 ? "b32" : "b64";
}

void evaluateBits(const std::string &instruction, const char *resultType,
                  const std::vector<const char *> &types,
                  const std::vector<uint64_t> &values, uint64_t &result);

template <typename T> uint64_t toBits(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

template <typename Result, typename... Arguments>
Result evaluate(const std::string &instruction, Arguments... arguments) {
  uint64_t bits = 0;
  evaluateBits(instruction, registerType<Result>(),
               {registerType<Arguments>()...}, {toBits(arguments)...}, bits);
  Result result;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}

} // namespace pascaline::emulator::test
