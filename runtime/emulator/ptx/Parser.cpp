// The module: its header and what stands at its top level.
#include "runtime/emulator/ptx/Parser.h"

namespace pascaline::emulator::ptx {

std::unique_ptr<Module> parse(std::string_view text, Diagnostic &diagnostic) {
  if (text.ends_with('\0'))
    text.remove_suffix(1);
  if (text.size() > kMaxTextBytes) {
    diagnostic.fail(ErrorKind::InvalidPtx, 0,
                    "PTX of " + std::to_string(text.size()) +
                        " bytes; the limit is " +
                        std::to_string(kMaxTextBytes));
    return nullptr;
  }
  auto module = std::make_unique<Module>();
  module->text = text;
  Parser parser(*module, diagnostic);
  if (!parser.parseModule())
    return nullptr;
  return module;
}

bool Parser::failAt(uint32_t line, std::string text) {
  return diagnostic.fail(ErrorKind::InvalidPtx, line, std::move(text));
}

bool Parser::unexpected(std::string_view wanted) {
  std::string found;
  switch (token.kind) {
  case Token::Kind::End:
    found = "the end of the text";
    break;
  case Token::Kind::Error:
    found = token.text;
    break;
  case Token::Kind::Dot:
    found = "'." + std::string(token.text.substr(0, 64)) + "'";
    break;
  case Token::Kind::String:
    found = "a string";
    break;
  default:
    found = "'" + std::string(token.text.substr(0, 64)) + "'";
  }
  return fail("expected " + std::string(wanted) + ", found " + found);
}

bool Parser::accept(char c) {
  if (!token.is(c))
    return false;
  advance();
  return true;
}

bool Parser::expect(char c) {
  if (accept(c))
    return true;
  return unexpected("'" + std::string(1, c) + "'");
}

bool Parser::acceptDot(std::string_view name) {
  if (!token.is(Token::Kind::Dot) || token.text != name)
    return false;
  advance();
  return true;
}

// Everything up to and with `c`.
bool Parser::skipTo(char c) {
  while (!token.is(c)) {
    if (token.is(Token::Kind::End) || token.is(Token::Kind::Error))
      return unexpected("'" + std::string(1, c) + "'");
    advance();
  }
  advance();
  return true;
}

void Parser::openScope() {
  uint32_t number = static_cast<uint32_t>(scopeParents.size());
  uint32_t parent = scopes.empty() ? 0 : scopes.back().number;
  scopeParents.push_back(parent);
  scopes.push_back({number, parent, {}});
}

bool Parser::parseModule() {
  openScope();
  if (!parseHeader())
    return false;
  while (!token.is(Token::Kind::End))
    if (!parseTopLevel())
      return false;
  return true;
}

// .version 6.3  .target sm_61, debug  .address_size 64
bool Parser::parseHeader() {
  uint32_t line = token.line;
  if (!acceptDot("version"))
    return unexpected("'.version', with which PTX begins");
  // 6.3 comes as one decimal number: take its text apart.
  std::string_view version = token.text;
  size_t point = version.find('.');
  if (!token.is(Token::Kind::Double) || point == std::string_view::npos ||
      point > 3 || version.size() > point + 3)
    return unexpected("a version such as 6.3");
  for (char c : version.substr(0, point))
    module.versionMajor = module.versionMajor * 10 + unsigned(c - '0');
  for (char c : version.substr(point + 1)) {
    if (c < '0' || c > '9')
      return unexpected("a version such as 6.3");
    module.versionMinor = module.versionMinor * 10 + unsigned(c - '0');
  }
  if (module.versionMajor > kMaxVersionMajor)
    return diagnostic.fail(
        ErrorKind::UnsupportedVersion, line,
        "PTX version " + std::string(version) + " is newer than " +
            std::to_string(kMaxVersionMajor) + ".x, the last one known");
  advance();
  line = token.line;
  if (!acceptDot("target"))
    return unexpected("'.target'");
  do {
    if (!token.is(Token::Kind::Identifier))
      return unexpected("a target such as sm_61");
    std::string_view target = token.text;
    if (target.starts_with("sm_")) {
      uint32_t number = 0;
      for (char c : target.substr(3, 4))
        if (c >= '0' && c <= '9')
          number = number * 10 + unsigned(c - '0');
      module.target = number;
      if (number > kMaxTarget)
        return diagnostic.fail(
            ErrorKind::UnsupportedTarget, line,
            "target " + std::string(target.substr(0, 16)) + " is above sm_" +
                std::to_string(kMaxTarget) + ", which this device offers");
    }
    advance();
  } while (accept(','));
  if (!module.target)
    return failAt(line, "the target names no sm_");
  if (acceptDot("address_size")) {
    line = token.line;
    uint32_t bits = 0;
    if (!parseUnsigned32(bits))
      return false;
    if (bits != 64)
      return diagnostic.fail(ErrorKind::Unsupported, line,
                             "address size " + std::to_string(bits) +
                                 " is not supported; use 64");
  }
  return true;
}

// .section .debug_str { ... }
bool Parser::skipSection() {
  while (!token.is('{')) {
    if (token.is(Token::Kind::End) || token.is(Token::Kind::Error))
      return unexpected("'{'");
    advance();
  }
  return skipTo('}');
}

bool Parser::parseTopLevel() {
  if (accept(';'))
    return true;
  if (!token.is(Token::Kind::Dot))
    return unexpected("a directive");
  bool isExtern = false;
  while (token.is(Token::Kind::Dot) &&
         (token.text == "visible" || token.text == "extern" ||
          token.text == "weak" || token.text == "common")) {
    isExtern |= token.text == "extern";
    advance();
  }
  if (!token.is(Token::Kind::Dot))
    return unexpected("a directive");
  std::string_view name = token.text;
  if (name == "entry" || name == "func") {
    advance();
    return parseFunction(name == "entry");
  }
  Space space = name == "global"   ? Space::Global
                : name == "const"  ? Space::Const
                : name == "shared" ? Space::Shared
                                   : Space::Generic;
  if (space != Space::Generic) {
    advance();
    return parseVariables(module.variables, nullptr, space, isExtern) &&
           expect(';');
  }
  if (name == "file") {
    // .file 1 "name" [, time, size]: no terminator
    advance();
    while (token.is(Token::Kind::Integer) || token.is(Token::Kind::String) ||
           token.is(','))
      advance();
    return true;
  }
  if (name == "section") {
    advance();
    return skipSection();
  }
  if (name == "pragma") {
    advance();
    return skipTo(';');
  }
  return fail("unknown directive '." + std::string(name.substr(0, 64)) + "'");
}

} // namespace pascaline::emulator::ptx
