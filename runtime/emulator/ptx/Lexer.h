// Lexer.h - PTX text to tokens, one at a time.
//
// Any bytes are accepted: what is no token comes back as Kind::Error and the
// parser refuses it with its line. Test: test/emulator/PtxParserTest.cpp.
#pragma once

#include <cstdint>
#include <string_view>

namespace pascaline::emulator::ptx {

struct Token {
  enum class Kind : uint8_t {
    End,
    Identifier, // name, %name, $name, _
    Dot,        // .name; text without the dot
    Integer,    // value
    Float,      // 0f3F800000: value holds the bits of a float
    Double,     // 0d..., 1.5: value holds the bits of a double
    String,     // text between the quotes
    Punctuation,
    Error, // text says what is wrong
  };
  Kind kind = Kind::End;
  char punctuation = 0;
  bool adjacent = false; // no white space before it
  uint32_t line = 1;
  uint64_t value = 0;
  std::string_view text;

  bool is(char c) const {
    return kind == Kind::Punctuation && punctuation == c;
  }
  bool is(Kind which) const { return kind == which; }
};

class Lexer {
public:
  explicit Lexer(std::string_view source) : source(source) {}
  Token next();

private:
  void skipSpace();
  Token identifier(Token token);
  Token number(Token token);
  Token decimalFloat(Token token);
  Token error(Token token, std::string_view what);
  char peek(size_t ahead = 0) const {
    return position + ahead < source.size() ? source[position + ahead] : '\0';
  }

  std::string_view source;
  size_t position = 0;
  uint32_t line = 1;
  bool unterminated = false;
};

} // namespace pascaline::emulator::ptx
