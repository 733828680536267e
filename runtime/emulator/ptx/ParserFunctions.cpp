// Functions: heads, statements, labels.
#include "runtime/emulator/ptx/Parser.h"

#include <utility>

namespace pascaline::emulator::ptx {

bool Parser::parseFunctionParams(Function &function, bool results) {
  if (!expect('('))
    return false;
  auto &variables = results ? function.results : function.params;
  auto &registers =
      results ? function.resultRegisters : function.paramRegisters;
  if (accept(')'))
    return true;
  do {
    if (variables.size() >= kMaxOperands)
      return fail("too many parameters");
    if (acceptDot("reg")) {
      Type type =
          token.is(Token::Kind::Dot) ? typeNamed(token.text) : Type::None;
      if (type == Type::None)
        return unexpected("a register type");
      advance();
      if (!token.is(Token::Kind::Identifier))
        return unexpected("a register name");
      Meaning meaning{Meaning::Kind::Register, 0, type, 0, nullptr};
      if (!addRegister(token.text, type, meaning.index) ||
          !declare(scopes.back(), token.text, meaning, token.line))
        return false;
      variables.push_back(nullptr);
      registers.push_back(meaning.index);
      advance();
      continue;
    }
    if (!acceptDot("param"))
      return unexpected("'.param'");
    size_t before = function.variables.size();
    // One declaration, no list: the comma separates parameters.
    Variable head;
    uint32_t vectorWidth = 1;
    if (!parseVariableHead(head, vectorWidth))
      return false;
    if (!token.is(Token::Kind::Identifier))
      return unexpected("a parameter name");
    Variable &variable = function.variables.emplace_back(std::move(head));
    variable.name = token.text;
    variable.line = token.line;
    variable.space = Space::Param;
    variable.owner = &function;
    variable.number = static_cast<uint32_t>(before);
    variable.bytes = bytesOf(variable.type) * vectorWidth;
    advance();
    bool isArray = false;
    if (!parseArrayBounds(variable, isArray))
      return false;
    if (variable.name != "_" &&
        !declare(scopes.back(), variable.name,
                 {Meaning::Kind::Variable, 0, variable.type, 0, &variable},
                 variable.line))
      return false;
    variables.push_back(&variable);
    registers.push_back(0);
  } while (accept(','));
  return expect(')');
}

bool Parser::parseThreads(uint32_t *threads) {
  threads[0] = threads[1] = threads[2] = 1;
  uint64_t product = 1;
  uint32_t line = token.line;
  for (int i = 0; i < 3; ++i) {
    if (!parseUnsigned32(threads[i]))
      return false;
    product = threads[i] > 1024 ? 1025 : product * threads[i];
    if (product == 0 || product > 1024)
      return failAt(line, "a block needs 1 to 1024 threads");
    if (!accept(','))
      break;
  }
  return true;
}

bool Parser::parsePerformanceDirectives(Function &function) {
  while (token.is(Token::Kind::Dot)) {
    std::string_view name = token.text;
    if (name == "maxntid" || name == "reqntid") {
      advance();
      if (!parseThreads(name == "maxntid" ? function.maxThreads
                                          : function.requiredThreads))
        return false;
    } else if (name == "minnctapersm" || name == "maxnreg" ||
               name == "maxnctapersm") {
      advance();
      uint32_t ignored = 0;
      if (!parseUnsigned32(ignored))
        return false;
    } else if (name == "noreturn") {
      advance();
    } else if (name == "pragma") {
      advance();
      if (!skipTo(';'))
        return false;
    } else {
      return fail("unknown directive '." + std::string(name.substr(0, 64)) +
                  "' before a function's body");
    }
  }
  return true;
}

bool Parser::parseFunction(bool isEntry) {
  Function &function = module.functions.emplace_back();
  current = &function;
  function.isEntry = isEntry;
  function.line = token.line;
  instructionScopes.clear();
  labelNumbers.clear();
  tableNumbers.clear();
  openScope();
  if (token.is('(') && !parseFunctionParams(function, true))
    return false;
  if (!token.is(Token::Kind::Identifier))
    return unexpected("a function name");
  function.name = token.text;
  uint32_t line = token.line;
  advance();
  if (token.is('(') && !parseFunctionParams(function, false))
    return false;
  if (!parsePerformanceDirectives(function))
    return false;
  if (accept('{')) {
    function.hasBody = true;
    if (!parseBody(function))
      return false;
  } else if (!accept(';')) {
    return unexpected("'{' or ';'");
  }
  closeScope();
  current = nullptr;
  // A prototype gives way to a definition.
  const Function *&known = module.functionsByName[function.name];
  if (known && known->hasBody && function.hasBody)
    return failAt(line, "function '" + std::string(function.name) +
                            "' is defined twice, first in line " +
                            std::to_string(known->line));
  if (!known || function.hasBody)
    known = &function;
  return true;
}

// A body's statements, until the brace that closes it. Scopes are counted, not
// recursed into.
bool Parser::parseBody(Function &function) {
  size_t outer = scopes.size();
  for (;;) {
    if (accept('{')) {
      if (scopes.size() >= kMaxScopeDepth)
        return fail("scopes are nested more than " +
                    std::to_string(kMaxScopeDepth) + " deep");
      openScope();
    } else if (accept('}')) {
      if (scopes.size() == outer)
        break;
      closeScope();
    } else if (!parseStatement(function)) {
      return false;
    }
  }
  return resolveLabels(function);
}

bool Parser::parseStatement(Function &function) {
  if (accept(';'))
    return true;
  if (token.is(Token::Kind::Dot))
    return parseBodyDirective(function);
  return parseInstruction(function);
}

bool Parser::parseBodyDirective(Function &function) {
  std::string_view name = token.text;
  if (name == "reg") {
    advance();
    return parseRegisters();
  }
  if (name == "local" || name == "shared" || name == "param") {
    advance();
    Space space = name == "local"    ? Space::Local
                  : name == "shared" ? Space::Shared
                                     : Space::Param;
    return parseVariables(function.variables, &function, space, false) &&
           expect(';');
  }
  if (name == "global" || name == "const") {
    advance();
    return parseVariables(function.variables, &function,
                          name == "global" ? Space::Global : Space::Const,
                          false) &&
           expect(';');
  }
  if (name == "loc") {
    // .loc file line column [, function_name label [+n], inlined_at ...]
    uint32_t line = token.line;
    while (token.line == line && !token.is(Token::Kind::End) &&
           !token.is(Token::Kind::Error) && !token.is('}'))
      advance();
    return true;
  }
  if (name == "pragma" || name == "callprototype" || name == "calltargets" ||
      name == "attribute") {
    advance();
    return skipTo(';');
  }
  return fail("unknown directive '." + std::string(name.substr(0, 64)) +
              "' in a function");
}

// name ':' has been read. A label, or the name of a branch table.
bool Parser::parseLabel(Function &function, const Token &name) {
  uint32_t scope = scopes.back().number;
  std::pair key(name.text, scope);
  if (labelNumbers.count(key) || tableNumbers.count(key))
    return failAt(name.line, "label '" + std::string(name.text) +
                                 "' is defined twice in one scope");
  if (acceptDot("branchtargets")) {
    tableNumbers[key] = static_cast<uint32_t>(function.branchTables.size());
    BranchTable &table = function.branchTables.emplace_back();
    table.name = name.text;
    table.scope = scope;
    table.line = name.line;
    do {
      if (!token.is(Token::Kind::Identifier))
        return unexpected("a label");
      Operand &target = table.targets.emplace_back();
      target.kind = Operand::Kind::Name;
      target.name = token.text;
      advance();
    } while (accept(','));
    return expect(';');
  }
  if (token.is(Token::Kind::Dot) &&
      (token.text == "callprototype" || token.text == "calltargets"))
    return skipTo(';');
  labelNumbers[key] = static_cast<uint32_t>(function.labels.size());
  function.labels.push_back({name.text, scope,
                             static_cast<uint32_t>(function.body.size()),
                             name.line});
  return true;
}

bool Parser::parseInstruction(Function &function) {
  Instruction instruction;
  instruction.line = token.line;
  if (accept('@')) {
    instruction.predicateNegated = accept('!');
    if (!token.is(Token::Kind::Identifier))
      return unexpected("a predicate");
    Operand predicate;
    if (!parseNamed(predicate))
      return false;
    if (!predicate.is(Operand::Kind::Register) ||
        function.registers[predicate.index].type != Type::Pred)
      return failAt(instruction.line, "a guard must be a .pred register");
    instruction.predicate = predicate.index;
  }
  if (!token.is(Token::Kind::Identifier))
    return unexpected("an instruction");
  Token name = token;
  advance();
  if (instruction.predicate == Instruction::kAlways && accept(':'))
    return parseLabel(function, name);
  instruction.opcode = name.text;
  while (token.is(Token::Kind::Dot)) {
    if (instruction.modifiers.size() >= 32)
      return fail("too many modifiers");
    instruction.modifiers.push_back(token.text);
    advance();
  }
  if (!token.is(';')) {
    do {
      if (instruction.operands.size() >= kMaxOperands)
        return fail("too many operands");
      if (!parseOperand(instruction.operands.emplace_back(), 0))
        return false;
    } while (accept(','));
  }
  if (!expect(';'))
    return false;
  function.body.push_back(std::move(instruction));
  instructionScopes.push_back(scopes.back().number);
  return true;
}

// The number of a label or table that `scope` or one around it defines.
static uint32_t
find(const std::map<std::pair<std::string_view, uint32_t>, uint32_t> &numbers,
     const std::vector<uint32_t> &parents, std::string_view name,
     uint32_t scope) {
  for (;; scope = parents[scope]) {
    auto found = numbers.find({name, scope});
    if (found != numbers.end())
      return found->second;
    if (scope == 0)
      return ~0u;
  }
}

bool Parser::resolveOperand(Operand &operand, uint32_t scope) {
  for (Operand &element : operand.elements)
    resolveOperand(element, scope);
  if (!operand.is(Operand::Kind::Name))
    return true;
  uint32_t number = find(labelNumbers, scopeParents, operand.name, scope);
  if (number != ~0u) {
    operand.kind = Operand::Kind::Label;
    operand.index = number;
    return true;
  }
  number = find(tableNumbers, scopeParents, operand.name, scope);
  if (number == ~0u)
    return false;
  operand.kind = Operand::Kind::Table;
  operand.index = number;
  return true;
}

// Names that stay names are functions, or undefined: the translator knows.
bool Parser::resolveLabels(Function &function) {
  for (size_t i = 0; i < function.body.size(); ++i)
    for (Operand &operand : function.body[i].operands)
      resolveOperand(operand, instructionScopes[i]);
  for (BranchTable &table : function.branchTables)
    for (Operand &target : table.targets)
      if (!resolveOperand(target, table.scope) ||
          !target.is(Operand::Kind::Label))
        return failAt(table.line, "label '" + std::string(target.name) +
                                      "' is not defined");
  return true;
}

} // namespace pascaline::emulator::ptx
