// Parser.h - PTX text to the syntax tree of Syntax.h.
//
// Recursive descent with one token of look-ahead. The text may be hostile:
// nesting, sizes and counts are limited before anything is allocated, and every
// refusal names its line. Test: test/emulator/PtxParserTest.cpp.
#pragma once

#include "runtime/emulator/ptx/Diagnostic.h"
#include "runtime/emulator/ptx/Lexer.h"
#include "runtime/emulator/ptx/Syntax.h"

#include <map>
#include <memory>
#include <unordered_map>

namespace pascaline::emulator::ptx {

// Null: `diagnostic` says why.
std::unique_ptr<Module> parse(std::string_view text, Diagnostic &diagnostic);

inline constexpr uint32_t kMaxVersionMajor = 9; // newest PTX ISA known
inline constexpr uint32_t kMaxTarget = 61;      // the device emulated
inline constexpr uint64_t kMaxTextBytes = uint64_t(1) << 30;
inline constexpr uint64_t kMaxVariableBytes = uint64_t(1) << 36;
inline constexpr uint32_t kMaxAlign = 1u << 16;
inline constexpr uint32_t kMaxScopeDepth = 256;
inline constexpr uint32_t kMaxOperandDepth = 4;
inline constexpr uint32_t kMaxOperands = 4096;      // of one instruction
inline constexpr uint32_t kMaxRegisters = 1u << 20; // used by one function

class Parser {
public:
  Parser(Module &module, Diagnostic &diagnostic)
      : module(module), diagnostic(diagnostic), lexer(module.text) {
    advance();
  }
  bool parseModule();

private:
  // What a name means inside a scope.
  struct Meaning {
    enum class Kind : uint8_t { Register, Range, Variable } kind;
    uint32_t index = 0; // register number
    Type type = Type::None;
    uint32_t count = 0; // of a range: %r<count>
    const Variable *variable = nullptr;
  };
  struct Scope {
    uint32_t number;
    uint32_t parent;
    std::unordered_map<std::string_view, Meaning> names;
  };

  // Parser.cpp
  bool parseHeader();
  bool parseTopLevel();
  bool skipSection();
  // ParserFunctions.cpp
  bool parseFunction(bool isEntry);
  bool parseFunctionParams(Function &function, bool results);
  bool parsePerformanceDirectives(Function &function);
  bool parseThreads(uint32_t *threads);
  bool parseBody(Function &function);
  bool parseStatement(Function &function);
  bool parseBodyDirective(Function &function);
  bool parseLabel(Function &function, const Token &name);
  bool parseInstruction(Function &function);
  bool resolveLabels(Function &function);
  bool resolveOperand(Operand &operand, uint32_t scope);
  void openScope();
  void closeScope() { scopes.pop_back(); }

  // ParserOperands.cpp
  bool parseOperand(Operand &operand, uint32_t depth);
  bool parsePrimary(Operand &operand, uint32_t depth);
  bool parseNamed(Operand &operand);
  bool parseAddress(Operand &operand, uint32_t depth);
  bool parseElements(Operand &operand, char close, uint32_t depth);
  bool parseDisplacement(int64_t &value);
  bool parseInteger(int64_t &value);
  bool parseUnsigned32(uint32_t &value);
  const Meaning *lookUp(std::string_view name, Meaning &storage);
  bool addRegister(std::string_view name, Type type, uint32_t &index);

  // ParserVariables.cpp
  bool parseRegisters();
  bool parseVariables(std::deque<Variable> &owner, const Function *function,
                      Space space, bool isExtern);
  bool parseVariableHead(Variable &variable, uint32_t &vectorWidth);
  bool parseArrayBounds(Variable &variable, bool &isArray);
  bool parseInitializer(Variable &variable);
  bool parseInitialValues(Variable &variable, uint64_t &offset, uint32_t depth);
  bool parseInitialValue(Variable &variable, uint64_t offset);
  bool declare(Scope &scope, std::string_view name, Meaning meaning,
               uint32_t line);

  void advance() { token = lexer.next(); }
  bool fail(std::string text) { return failAt(token.line, std::move(text)); }
  bool failAt(uint32_t line, std::string text);
  bool unexpected(std::string_view wanted);
  bool expect(char c);
  bool accept(char c);
  bool acceptDot(std::string_view name);
  bool skipTo(char c);

  Module &module;
  Diagnostic &diagnostic;
  Lexer lexer;
  Token token;
  std::vector<Scope> scopes; // [0] is the module's
  std::vector<uint32_t> scopeParents;
  std::vector<uint32_t> instructionScopes; // of the function being parsed
  // (name, scope) -> number, of the function being parsed
  std::map<std::pair<std::string_view, uint32_t>, uint32_t> labelNumbers;
  std::map<std::pair<std::string_view, uint32_t>, uint32_t> tableNumbers;
  Function *current = nullptr;
};

} // namespace pascaline::emulator::ptx
