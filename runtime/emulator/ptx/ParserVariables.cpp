// Declarations: registers, variables and their initial values.
#include "runtime/emulator/ptx/Parser.h"

#include <bit>
#include <cstring>

namespace pascaline::emulator::ptx {

bool Parser::declare(Scope &scope, std::string_view name, Meaning meaning,
                     uint32_t line) {
  if (scope.names.emplace(name, meaning).second)
    return true;
  return failAt(line,
                "'" + std::string(name) + "' is declared twice in one scope");
}

// .reg .b32 %r<42>, a, b;
bool Parser::parseRegisters() {
  if (!token.is(Token::Kind::Dot))
    return unexpected("a register type");
  Type type = typeNamed(token.text);
  if (token.text == "v2" || token.text == "v4") {
    diagnostic.fail(ErrorKind::Unsupported, token.line,
                    "vector registers are not supported; use {a, b, c, d}");
    return false;
  }
  if (type == Type::None)
    return fail("'." + std::string(token.text) + "' is no register type");
  advance();
  do {
    if (!token.is(Token::Kind::Identifier))
      return unexpected("a register name");
    std::string_view name = token.text;
    uint32_t line = token.line;
    advance();
    Meaning meaning{Meaning::Kind::Register, 0, type, 0, nullptr};
    if (accept('<')) {
      meaning.kind = Meaning::Kind::Range;
      if (!parseUnsigned32(meaning.count) || !expect('>'))
        return false;
    } else if (!addRegister(name, type, meaning.index)) {
      return false;
    }
    if (!declare(scopes.back(), name, meaning, line))
      return false;
  } while (accept(','));
  return expect(';');
}

// .align 16 .v4 .f32 .ptr .global .align 4: everything before the name.
bool Parser::parseVariableHead(Variable &variable, uint32_t &vectorWidth) {
  vectorWidth = 1;
  bool pointer = false, aligned = false;
  while (token.is(Token::Kind::Dot)) {
    std::string_view name = token.text;
    Type type = typeNamed(name);
    if (type != Type::None) {
      if (type == Type::Pred)
        return fail("a variable cannot be of type .pred");
      variable.type = type;
    } else if (name == "v2" || name == "v4") {
      vectorWidth = name[1] - '0';
    } else if (name == "ptr") {
      pointer = true; // what follows tells of the target, not the variable
    } else if (name == "align") {
      advance();
      uint32_t align = 0;
      uint32_t line = token.line;
      if (!parseUnsigned32(align))
        return false;
      if (!std::has_single_bit(align) || align > kMaxAlign)
        return failAt(line, "alignment " + std::to_string(align) +
                                " is no power of two up to " +
                                std::to_string(kMaxAlign));
      if (!pointer) {
        variable.align = align;
        aligned = true;
      }
      continue;
    } else if (name == "texref") {
      variable.type = Type::B64;
      variable.isTexture = true;
    } else if (name == "samplerref" || name == "surfref") {
      return diagnostic.fail(ErrorKind::Unsupported, token.line,
                             "samplers and surfaces (." + std::string(name) +
                                 ") are not supported");
    } else if (name != "global" && name != "const" && name != "shared" &&
               name != "local" && name != "managed") {
      return fail("unknown directive '." + std::string(name) +
                  "' in a declaration");
    }
    advance();
  }
  if (variable.type == Type::None)
    return unexpected("a type");
  if (!aligned)
    variable.align = bytesOf(variable.type) * vectorWidth;
  return true;
}

// [4][5] or [], which stands only first and leaves bytes 0.
bool Parser::parseArrayBounds(Variable &variable, bool &isArray) {
  isArray = token.is('[');
  bool open = false;
  while (accept('[')) {
    if (accept(']')) {
      if (open)
        return fail("only the first bound of an array may be left out");
      open = true;
      continue;
    }
    int64_t bound = 0;
    if (!parseInteger(bound))
      return false;
    if (bound < 0 ||
        (bound && variable.bytes > kMaxVariableBytes / uint64_t(bound)))
      return fail("array '" + std::string(variable.name) +
                  "' is larger than the limit of " +
                  std::to_string(kMaxVariableBytes) + " bytes");
    variable.bytes *= bound;
    if (!expect(']'))
      return false;
  }
  if (open)
    variable.bytes = 0;
  return true;
}

bool Parser::parseVariables(std::deque<Variable> &owner,
                            const Function *function, Space space,
                            bool isExtern) {
  Variable head;
  uint32_t vectorWidth = 1;
  if (!parseVariableHead(head, vectorWidth))
    return false;
  do {
    if (!token.is(Token::Kind::Identifier))
      return unexpected("a variable name");
    Variable &variable = owner.emplace_back(head);
    variable.name = token.text;
    variable.line = token.line;
    variable.space = space;
    variable.isExtern = isExtern;
    variable.owner = function;
    variable.number = static_cast<uint32_t>(owner.size() - 1);
    variable.bytes = bytesOf(head.type) * vectorWidth;
    advance();
    bool isArray = false, ranged = token.is('<');
    if (ranged) // .param .b32 x<4>: parameterised names are for registers
      return fail("'<count>' is for registers");
    if (!parseArrayBounds(variable, isArray))
      return false;
    if (accept('=')) {
      if (space != Space::Global && space != Space::Const)
        return fail("only .global and .const variables have initializers");
      if (!parseInitializer(variable))
        return false;
    }
    if (isArray && variable.bytes == 0 && !isExtern && space != Space::Param &&
        variable.initial.empty())
      return failAt(variable.line,
                    "array '" + std::string(variable.name) + "' has no size");
    Meaning meaning{Meaning::Kind::Variable, 0, head.type, 0, &variable};
    Scope &scope = scopes.back();
    auto known = scope.names.find(variable.name);
    // An extern declaration and its definition may both stand.
    if (known != scope.names.end() && !function &&
        known->second.kind == Meaning::Kind::Variable &&
        (known->second.variable->isExtern || isExtern)) {
      if (!isExtern)
        known->second = meaning;
      continue;
    }
    if (!declare(scope, variable.name, meaning, variable.line))
      return false;
  } while (accept(','));
  return true;
}

bool Parser::parseInitializer(Variable &variable) {
  bool open = variable.bytes == 0;
  uint64_t offset = 0;
  if (!token.is('{')) {
    variable.initial.resize(variable.bytes);
    return parseInitialValue(variable, 0);
  }
  if (!parseInitialValues(variable, offset, 0))
    return false;
  if (open)
    variable.bytes = offset;
  // Values written so far plus zeros; a text of a few bytes may not claim
  // memory without end.
  constexpr uint64_t limit = uint64_t(1) << 30;
  if (variable.bytes > limit)
    return fail("variable '" + std::string(variable.name) +
                "' has an initializer and " + std::to_string(variable.bytes) +
                " bytes; the limit is " + std::to_string(limit));
  variable.initial.resize(variable.bytes);
  return true;
}

// { 1, 2, {3, 4} }; inner braces are read as a flat list.
bool Parser::parseInitialValues(Variable &variable, uint64_t &offset,
                                uint32_t depth) {
  if (depth > kMaxOperandDepth)
    return fail("initializers are nested too deeply");
  if (!expect('{'))
    return false;
  if (accept('}'))
    return true;
  do {
    if (token.is('{')) {
      if (!parseInitialValues(variable, offset, depth + 1))
        return false;
      continue;
    }
    uint32_t step = bytesOf(variable.type);
    if (variable.bytes && offset + step > variable.bytes)
      return fail("too many initial values for '" + std::string(variable.name) +
                  "'");
    if (variable.initial.size() < offset + step)
      variable.initial.resize(offset + step);
    if (!parseInitialValue(variable, offset))
      return false;
    offset += step;
  } while (accept(','));
  return expect('}');
}

bool Parser::parseInitialValue(Variable &variable, uint64_t offset) {
  uint32_t bytes = bytesOf(variable.type);
  uint64_t bits = 0;
  bool negative = accept('-');
  if (token.is(Token::Kind::Identifier)) {
    bool generic = token.text == "generic";
    if (generic) {
      advance();
      if (!expect('('))
        return false;
    }
    if (!token.is(Token::Kind::Identifier))
      return unexpected("a variable name");
    Relocation relocation{offset, bytes, token.text, 0, token.line};
    advance();
    if (generic && !expect(')'))
      return false;
    if (bytes != 8)
      return fail("an address needs a 64-bit variable, '" +
                  std::string(variable.name) + "' has " +
                  std::to_string(bytes * 8) + " bits");
    if (!parseDisplacement(relocation.addend))
      return false;
    variable.relocations.push_back(relocation);
    return true;
  }
  if (token.is(Token::Kind::Integer)) {
    if (isFloat(variable.type))
      return unexpected("a floating-point value");
    bits = negative ? 0 - token.value : token.value;
  } else if (token.is(Token::Kind::Float) || token.is(Token::Kind::Double)) {
    double value = token.is(Token::Kind::Float)
                       ? std::bit_cast<float>(uint32_t(token.value))
                       : std::bit_cast<double>(token.value);
    if (negative)
      value = -value;
    if (variable.type == Type::F32)
      bits = std::bit_cast<uint32_t>(static_cast<float>(value));
    else if (variable.type == Type::F64)
      bits = std::bit_cast<uint64_t>(value);
    else
      return unexpected("an integer");
  } else {
    return unexpected("an initial value");
  }
  advance();
  std::memcpy(variable.initial.data() + offset, &bits, bytes);
  return true;
}

} // namespace pascaline::emulator::ptx
