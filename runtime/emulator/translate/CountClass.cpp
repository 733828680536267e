// Instructions by what executes them; docs/emulator.md lists the classes.
#include "runtime/emulator/translate/Count.h"

namespace pascaline::emulator {
namespace {

using Class = InstructionClass;
using Type = ptx::Type;

// The type that an instruction works in: its last.
Type typeOf(const ptx::Instruction &instruction) {
  Type found = Type::None;
  for (std::string_view modifier : instruction.modifiers)
    if (Type type = ptx::typeNamed(modifier); type != Type::None)
      found = type;
  return found;
}

bool isHalf(Type type) {
  return type == Type::F16 || type == Type::F16x2 || type == Type::BF16 ||
         type == Type::BF16x2;
}

Class byType(Type type, Class single, Class integer) {
  if (type == Type::F64)
    return Class::fp64;
  if (isHalf(type))
    return Class::fp16;
  return type == Type::F32 ? single : integer;
}

bool isOneOf(std::string_view name,
             std::initializer_list<std::string_view> names) {
  for (std::string_view each : names)
    if (each == name)
      return true;
  return false;
}

// `first` is the class for .global; .shared .local .const .param and generic
// follow as the enumeration has them.
Class memoryClass(const ptx::Instruction &instruction, Class global,
                  Class shared, Class local, Class constant, Class param,
                  Class generic) {
  for (std::string_view modifier : instruction.modifiers) {
    if (modifier == "global")
      return global;
    if (modifier == "shared" || modifier == "shared::cta")
      return shared;
    if (modifier == "local")
      return local;
    if (modifier == "const")
      return constant;
    if (modifier.starts_with("param"))
      return param;
  }
  return instruction.opcode == "ldu" ? global : generic;
}

} // namespace

InstructionClass classOf(const ptx::Instruction &instruction) {
  std::string_view name = instruction.opcode;
  Type type = typeOf(instruction);
  if (name == "ld" || name == "ldu")
    return memoryClass(instruction, Class::load_global, Class::load_shared,
                       Class::load_local, Class::load_const, Class::load_param,
                       Class::load_generic);
  if (name == "st")
    return memoryClass(instruction, Class::store_global, Class::store_shared,
                       Class::store_local, Class::store_generic,
                       Class::store_param, Class::store_generic);
  if (name == "atom" || name == "red")
    return memoryClass(instruction, Class::atomic_global, Class::atomic_shared,
                       Class::atomic_generic, Class::atomic_generic,
                       Class::atomic_generic, Class::atomic_generic);
  if (isOneOf(name, {"add", "sub"}))
    return byType(type, Class::fp32_add, Class::int_add);
  if (name == "mul")
    return byType(type, Class::fp32_mul, Class::int_mul);
  if (isOneOf(name, {"fma", "mad"}))
    return byType(type, Class::fp32_fma, Class::int_mul);
  if (isOneOf(name, {"min", "max", "abs", "neg", "copysign", "testp"}))
    return byType(type, Class::fp32_minmax, Class::int_add);
  if (name == "div")
    return byType(type, Class::fp32_div, Class::int_div);
  if (name == "rem")
    return Class::int_div;
  if (isOneOf(name,
              {"rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh"}))
    return byType(type, Class::sfu, Class::sfu);
  if (isOneOf(name, {"addc", "subc", "sad"}))
    return Class::int_add;
  if (isOneOf(name, {"mul24", "mad24", "madc"}))
    return Class::int_mul;
  if (isOneOf(name, {"and", "or", "xor", "not", "cnot", "lop3"}))
    return Class::int_logic;
  if (isOneOf(name, {"shl", "shr", "shf"}))
    return Class::int_shift;
  if (isOneOf(name, {"bfe", "bfi", "bfind", "brev", "popc", "clz", "prmt",
                     "szext", "bmsk", "fns"}))
    return Class::int_bits;
  if (isOneOf(name, {"dp4a", "dp2a"}))
    return Class::dot;
  if (name == "cvt")
    return Class::convert;
  if (isOneOf(name, {"setp", "set"}))
    return Class::compare;
  if (isOneOf(name, {"selp", "slct"}))
    return Class::select;
  if (isOneOf(name, {"mov", "cvta", "isspacep", "mapa"}))
    return Class::move;
  if (isOneOf(name, {"bra", "brx"}))
    return Class::branch;
  if (isOneOf(name, {"bar", "barrier"}))
    return Class::barrier;
  if (name == "shfl")
    return Class::shuffle;
  if (isOneOf(name, {"vote", "activemask", "match", "elect", "redux"}))
    return Class::vote;
  if (isOneOf(name, {"membar", "fence"}))
    return Class::fence;
  if (isOneOf(name, {"prefetch", "prefetchu"}))
    return Class::prefetch;
  if (isOneOf(name, {"tex", "tld4", "txq", "suld", "sust", "sured", "suq"}))
    return Class::texture;
  return Class::control; // call ret exit trap brkpt nanosleep pmevent
}

} // namespace pascaline::emulator
