// Operands, names and numbers.
#include "runtime/emulator/ptx/Parser.h"

#include <charconv>
#include <limits>

namespace pascaline::emulator::ptx {

namespace {
constexpr std::string_view kSpecialRegisters[] = {
    "tid",
    "ntid",
    "ctaid",
    "nctaid",
    "laneid",
    "warpid",
    "nwarpid",
    "smid",
    "nsmid",
    "gridid",
    "lanemask_eq",
    "lanemask_le",
    "lanemask_lt",
    "lanemask_ge",
    "lanemask_gt",
    "clock",
    "clock_hi",
    "clock64",
    "globaltimer",
    "globaltimer_lo",
    "globaltimer_hi",
    "total_smem_size",
    "dynamic_smem_size",
};

bool isSpecial(std::string_view name) {
  if (!name.starts_with('%'))
    return false;
  name.remove_prefix(1);
  for (std::string_view each : kSpecialRegisters)
    if (each == name)
      return true;
  return false;
}
} // namespace

bool Parser::parseInteger(int64_t &value) {
  bool negative = accept('-');
  if (!token.is(Token::Kind::Integer))
    return unexpected("an integer");
  value = static_cast<int64_t>(negative ? 0 - token.value : token.value);
  advance();
  return true;
}

bool Parser::parseUnsigned32(uint32_t &value) {
  if (!token.is(Token::Kind::Integer) ||
      token.value > std::numeric_limits<uint32_t>::max())
    return unexpected("a number below 2^32");
  value = static_cast<uint32_t>(token.value);
  advance();
  return true;
}

// After a base: +4, -4, +-4, nothing.
bool Parser::parseDisplacement(int64_t &value) {
  value = 0;
  bool negative = token.is('-');
  if (!negative && !token.is('+'))
    return true;
  advance();
  if (!parseInteger(value))
    return false;
  if (value < std::numeric_limits<int32_t>::min() ||
      value > std::numeric_limits<int32_t>::max())
    return fail("displacement " + std::to_string(value) +
                " does not fit 32 bits");
  if (negative)
    value = -value;
  return true;
}

bool Parser::addRegister(std::string_view name, Type type, uint32_t &index) {
  if (current->registers.size() >= kMaxRegisters)
    return fail("function '" + std::string(current->name) +
                "' uses more than " + std::to_string(kMaxRegisters) +
                " registers");
  index = static_cast<uint32_t>(current->registers.size());
  current->registers.push_back({name, type});
  return true;
}

// The innermost meaning of a name. A member of a range (%r5 of %r<9>) becomes
// a register on its first use, so that %r<4000000000> costs nothing.
const Parser::Meaning *Parser::lookUp(std::string_view name, Meaning &storage) {
  size_t digits = 0;
  while (digits < name.size() && digits < 10 &&
         name[name.size() - 1 - digits] >= '0' &&
         name[name.size() - 1 - digits] <= '9')
    ++digits;
  for (size_t i = scopes.size(); i-- > 0;) {
    Scope &scope = scopes[i];
    auto found = scope.names.find(name);
    if (found != scope.names.end() &&
        found->second.kind != Meaning::Kind::Range) {
      storage = found->second;
      return &storage;
    }
    for (size_t length = 1; length <= digits; ++length) {
      std::string_view suffix = name.substr(name.size() - length);
      if (suffix.size() > 1 && suffix[0] == '0')
        continue;
      found = scope.names.find(name.substr(0, name.size() - length));
      if (found == scope.names.end() ||
          found->second.kind != Meaning::Kind::Range)
        continue;
      uint64_t number = 0;
      std::from_chars(suffix.data(), suffix.data() + suffix.size(), number);
      if (number >= found->second.count)
        continue;
      Meaning meaning{Meaning::Kind::Register, 0, found->second.type, 0,
                      nullptr};
      if (!addRegister(name, meaning.type, meaning.index))
        return nullptr;
      storage = meaning;
      scope.names.emplace(name, meaning);
      return &storage;
    }
  }
  return nullptr;
}

bool Parser::parseNamed(Operand &operand) {
  std::string_view name = token.text;
  if (name == "_") {
    operand.kind = Operand::Kind::Sink;
    advance();
    return true;
  }
  operand.name = name;
  Meaning storage{};
  const Meaning *meaning = lookUp(name, storage);
  if (diagnostic)
    return false;
  if (meaning && meaning->kind == Meaning::Kind::Register) {
    operand.kind = Operand::Kind::Register;
    operand.index = meaning->index;
    advance();
    return true;
  }
  if (meaning) {
    operand.kind = Operand::Kind::Variable;
    operand.variable = meaning->variable;
    advance();
    return parseDisplacement(operand.value);
  }
  uint32_t line = token.line;
  if (isSpecial(name)) {
    operand.kind = Operand::Kind::Special;
    advance();
    if (token.is(Token::Kind::Dot) && token.adjacent) {
      operand.name = std::string_view(
          name.data(), token.text.data() + token.text.size() - name.data());
      advance();
    }
    return true;
  }
  if (name[0] == '%')
    return failAt(line, "register '" + std::string(name) +
                            "' is not declared and is no special register");
  operand.kind = Operand::Kind::Name;
  advance();
  return true;
}

bool Parser::parseElements(Operand &operand, char close, uint32_t depth) {
  if (accept(close))
    return true;
  do {
    if (operand.elements.size() >= kMaxOperands)
      return fail("more than " + std::to_string(kMaxOperands) +
                  " operands in one list");
    if (!parseOperand(operand.elements.emplace_back(), depth + 1))
      return false;
  } while (accept(','));
  return expect(close);
}

bool Parser::parseAddress(Operand &operand, uint32_t depth) {
  operand.kind = Operand::Kind::Address;
  Operand &base = operand.elements.emplace_back();
  if (!parseOperand(base, depth + 1))
    return false;
  if (base.is(Operand::Kind::Variable)) {
    operand.value = base.value;
    base.value = 0;
  } else if (!parseDisplacement(operand.value)) {
    return false;
  }
  if (accept(','))
    return parseElements(operand, ']', depth);
  return expect(']');
}

bool Parser::parsePrimary(Operand &operand, uint32_t depth) {
  if (depth > kMaxOperandDepth)
    return fail("operands are nested too deeply");
  switch (token.kind) {
  case Token::Kind::Identifier:
    return parseNamed(operand);
  case Token::Kind::Integer:
    operand.kind = Operand::Kind::Integer;
    operand.value = static_cast<int64_t>(token.value);
    advance();
    return true;
  case Token::Kind::Float:
  case Token::Kind::Double:
    operand.kind = token.is(Token::Kind::Float) ? Operand::Kind::Float
                                                : Operand::Kind::Double;
    operand.value = static_cast<int64_t>(token.value);
    advance();
    return true;
  default:
    break;
  }
  if (accept('{')) {
    operand.kind = Operand::Kind::Vector;
    return parseElements(operand, '}', depth);
  }
  if (accept('(')) {
    operand.kind = Operand::Kind::List;
    return parseElements(operand, ')', depth);
  }
  if (accept('['))
    return parseAddress(operand, depth);
  if (token.is('!')) {
    advance();
    operand.negated = true;
    if (!token.is(Token::Kind::Identifier) || !parseNamed(operand))
      return unexpected("a predicate");
    if (!operand.is(Operand::Kind::Register))
      return fail("'!' stands before something that is no predicate");
    return true;
  }
  if (token.is('-')) {
    advance();
    if (token.is(Token::Kind::Double) || token.is(Token::Kind::Float)) {
      bool isDouble = token.is(Token::Kind::Double);
      operand.kind = isDouble ? Operand::Kind::Double : Operand::Kind::Float;
      operand.value = static_cast<int64_t>(
          token.value ^ (isDouble ? uint64_t(1) << 63 : uint64_t(1) << 31));
      advance();
      return true;
    }
    operand.kind = Operand::Kind::Integer;
    if (!parseInteger(operand.value))
      return false;
    operand.value =
        static_cast<int64_t>(0 - static_cast<uint64_t>(operand.value));
    return true;
  }
  return unexpected("an operand");
}

bool Parser::parseOperand(Operand &operand, uint32_t depth) {
  if (!parsePrimary(operand, depth))
    return false;
  if (!token.is('|'))
    return true;
  advance();
  Operand first = std::move(operand);
  operand = Operand();
  operand.kind = Operand::Kind::Pair;
  operand.elements.push_back(std::move(first));
  return parsePrimary(operand.elements.emplace_back(), depth + 1);
}

} // namespace pascaline::emulator::ptx
