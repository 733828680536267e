// Syntax.h - the syntax tree of a PTX module.
//
// Names of registers and variables are resolved by the parser (PTX scopes
// nest); labels and functions are resolved when a function ends, since they may
// be used before they are defined. What an instruction means, and whether its
// operands fit, is the translator's business: here it is an opcode, modifiers
// and operands. All string_views point into Module::text.
// Test: test/emulator/PtxParserTest.cpp.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace pascaline::emulator::ptx {

// clang-format off
enum class Type : uint8_t {
  None, Pred,
  B8, B16, B32, B64,
  U8, U16, U32, U64,
  S8, S16, S32, S64,
  F16, F16x2, BF16, BF16x2, F32, F64,
};
// clang-format on

// "u32" -> U32; None when the text names no type.
Type typeNamed(std::string_view name);
std::string_view nameOf(Type type);
unsigned bitsOf(Type type); // Pred has 1
inline unsigned bytesOf(Type type) { return (bitsOf(type) + 7) / 8; }
inline bool isSigned(Type type) {
  return type >= Type::S8 && type <= Type::S64;
}
inline bool isUnsigned(Type type) {
  return type >= Type::U8 && type <= Type::U64;
}
inline bool isInteger(Type type) {
  return type >= Type::B8 && type <= Type::S64;
}
inline bool isFloat(Type type) { return type >= Type::F16; }
inline bool isBits(Type type) { return type >= Type::B8 && type <= Type::B64; }
// What mov, selp, ld and the like carry: halves only as .b16 and .b32.
inline bool isPlainValue(Type type) {
  return isInteger(type) || type == Type::F32 || type == Type::F64;
}

enum class Space : uint8_t { Generic, Param, Local, Shared, Global, Const };

struct Function;

// A place in `initial` that holds the address of another variable.
struct Relocation {
  uint64_t offset;
  uint32_t bytes;
  std::string_view target;
  int64_t addend;
  uint32_t line;
};

struct Variable {
  std::string_view name;
  Space space = Space::Generic;
  Type type = Type::None;
  uint32_t align = 1;
  uint64_t bytes = 0; // 0: extern array without a bound
  bool isExtern = false;
  bool isTexture = false; // .texref: holds the texture's handle
  uint32_t line = 0;
  uint32_t number = 0;             // within its owner, in order
  const Function *owner = nullptr; // null: the module's
  std::vector<uint8_t> initial;    // empty: zeros
  std::vector<Relocation> relocations;
};

struct Register {
  std::string_view name;
  Type type;
};

struct Operand {
  enum class Kind : uint8_t {
    Register, // index: into Function::registers; negated: !p
    Special,  // name: "%tid.x"
    Integer,  // value
    Float,    // value: the bits of a float
    Double,   // value: the bits of a double
    Variable, // variable, value: bytes added to its address
    Label,    // index: into Function::labels
    Table,    // index: into Function::branchTables
    Name,     // a function, or a name that nothing defines
    Address,  // [elements[0] + value]; further elements for textures
    Vector,   // {elements}
    List,     // (elements), of a call
    Pair,     // elements[0] | elements[1]
    Sink,     // _
  };
  Kind kind = Kind::Sink;
  bool negated = false;
  uint32_t index = 0;
  int64_t value = 0;
  std::string_view name;
  const Variable *variable = nullptr;
  std::vector<Operand> elements;

  bool is(Kind which) const { return kind == which; }
};

struct Instruction {
  static constexpr uint32_t kAlways = ~0u;

  uint32_t line = 0;
  uint32_t predicate = kAlways; // register
  bool predicateNegated = false;
  std::string_view opcode;                 // "setp"
  std::vector<std::string_view> modifiers; // "lt", "s32"
  std::vector<Operand> operands;

  bool has(std::string_view modifier) const;
  std::string fullName() const; // "setp.lt.s32"
};

struct Label {
  std::string_view name;
  uint32_t scope;
  uint32_t instruction; // the one it stands before; body.size() at the end
  uint32_t line;
};

struct BranchTable {
  std::string_view name;
  uint32_t scope;
  std::vector<Operand> targets;
  uint32_t line;
};

struct Function {
  std::string_view name;
  uint32_t line = 0;
  bool isEntry = false;
  bool hasBody = false;
  std::vector<const Variable *> params; // .param, or null for a register
  std::vector<uint32_t> paramRegisters; // where params[i] is null
  std::vector<const Variable *> results;
  std::vector<uint32_t> resultRegisters;
  std::deque<Variable> variables; // addresses are stable
  std::vector<Register> registers;
  std::vector<Label> labels;
  std::vector<BranchTable> branchTables;
  std::vector<Instruction> body;
  uint32_t maxThreads[3] = {0, 0, 0};
  uint32_t requiredThreads[3] = {0, 0, 0};
};

struct Module {
  std::string text;
  uint32_t versionMajor = 0, versionMinor = 0;
  uint32_t target = 0;            // 61 for sm_61
  std::deque<Variable> variables; // .global, .const, .shared of the module
  std::deque<Function> functions;
  // The definition where there is one, else a prototype.
  std::unordered_map<std::string_view, const Function *> functionsByName;
};

} // namespace pascaline::emulator::ptx
