#include "runtime/emulator/translate/Emitter.h"

namespace pascaline::emulator {

bool Modifiers::take(std::string_view modifier) {
  for (size_t i = 0; i < instruction.modifiers.size(); ++i)
    if (!(taken >> i & 1) && instruction.modifiers[i] == modifier) {
      taken |= 1u << i;
      return true;
    }
  return false;
}

int Modifiers::takeOneOf(std::initializer_list<std::string_view> choices,
                         int fallback) {
  int number = 0;
  for (std::string_view choice : choices) {
    if (take(choice))
      return number;
    ++number;
  }
  return fallback;
}

Type Modifiers::takeType() {
  for (size_t i = 0; i < instruction.modifiers.size(); ++i) {
    if (taken >> i & 1)
      continue;
    Type type = ptx::typeNamed(instruction.modifiers[i]);
    if (type == Type::None)
      continue;
    taken |= 1u << i;
    return type;
  }
  return Type::None;
}

bool Modifiers::done(size_t least, size_t most) {
  for (size_t i = 0; i < instruction.modifiers.size(); ++i)
    if (!(taken >> i & 1))
      return emitter.fail(instruction,
                          "unknown modifier '." +
                              std::string(instruction.modifiers[i]) + "' in '" +
                              instruction.fullName() + "'");
  size_t count = instruction.operands.size();
  if (count >= least && count <= most)
    return true;
  return emitter.fail(
      instruction,
      "'" + instruction.fullName() + "' takes " + std::to_string(least) +
          (most > least ? " to " + std::to_string(most) : std::string()) +
          " operands, here are " + std::to_string(count));
}

bool Modifiers::refuse(std::string_view why) {
  return emitter.fail(instruction,
                      "'" + instruction.fullName() + "': " + std::string(why));
}

} // namespace pascaline::emulator
