#include "runtime/emulator/ptx/Syntax.h"

#include <iterator>

namespace pascaline::emulator::ptx {

namespace {
struct TypeFacts {
  std::string_view name;
  unsigned bits;
};
// In the order of Type.
constexpr TypeFacts kTypes[] = {
    {"", 0},       {"pred", 1},  {"b8", 8},      {"b16", 16}, {"b32", 32},
    {"b64", 64},   {"u8", 8},    {"u16", 16},    {"u32", 32}, {"u64", 64},
    {"s8", 8},     {"s16", 16},  {"s32", 32},    {"s64", 64}, {"f16", 16},
    {"f16x2", 32}, {"bf16", 16}, {"bf16x2", 32}, {"f32", 32}, {"f64", 64},
};
} // namespace

Type typeNamed(std::string_view name) {
  for (size_t i = 1; i < std::size(kTypes); ++i)
    if (kTypes[i].name == name)
      return static_cast<Type>(i);
  return Type::None;
}

std::string_view nameOf(Type type) {
  return kTypes[static_cast<size_t>(type)].name;
}

unsigned bitsOf(Type type) { return kTypes[static_cast<size_t>(type)].bits; }

bool Instruction::has(std::string_view modifier) const {
  for (std::string_view each : modifiers)
    if (each == modifier)
      return true;
  return false;
}

std::string Instruction::fullName() const {
  std::string name(opcode);
  for (std::string_view each : modifiers)
    name.append(".").append(each);
  return name;
}

} // namespace pascaline::emulator::ptx
