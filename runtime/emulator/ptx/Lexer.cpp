#include "runtime/emulator/ptx/Lexer.h"

#include <bit>
#include <cctype>
#include <charconv>
#include <system_error>

namespace pascaline::emulator::ptx {

static bool isWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$';
}

static bool isDigit(char c) { return c >= '0' && c <= '9'; }

// The value of a digit in any base up to 16, or 99.
static unsigned digitValue(char c) {
  if (isDigit(c))
    return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

void Lexer::skipSpace() {
  while (position < source.size()) {
    char c = source[position];
    if (c == '\n') {
      ++line;
      ++position;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++position;
    } else if (c == '/' && peek(1) == '/') {
      while (position < source.size() && source[position] != '\n')
        ++position;
    } else if (c == '/' && peek(1) == '*') {
      size_t end = source.find("*/", position + 2);
      if (end == std::string_view::npos) {
        unterminated = true;
        return;
      }
      for (; position < end + 2; ++position)
        line += source[position] == '\n';
    } else {
      return;
    }
  }
}

Token Lexer::error(Token token, std::string_view what) {
  token.kind = Token::Kind::Error;
  token.text = what;
  position = source.size();
  return token;
}

Token Lexer::next() {
  size_t before = position;
  skipSpace();
  Token token;
  token.line = line;
  token.adjacent = position == before;
  if (unterminated)
    return error(token, "a comment that is never closed");
  if (position >= source.size())
    return token;
  char c = source[position];
  if (isDigit(c))
    return number(token);
  if (isWord(c) || c == '%' || c == '.')
    return identifier(token);
  if (c == '"') {
    size_t end = ++position;
    while (end < source.size() && source[end] != '"' && source[end] != '\n')
      end += source[end] == '\\' ? 2 : 1;
    if (end >= source.size() || source[end] != '"')
      return error(token, "a string that is never closed");
    token.kind = Token::Kind::String;
    token.text = source.substr(position, end - position);
    position = end + 1;
    return token;
  }
  constexpr std::string_view known = "(){}[]<>,;:=+-*/!@|~&^?";
  if (known.find(c) == std::string_view::npos || c == '\0')
    return error(token, "a character that PTX does not use");
  token.kind = Token::Kind::Punctuation;
  token.punctuation = c;
  token.text = source.substr(position, 1);
  ++position;
  return token;
}

Token Lexer::identifier(Token token) {
  size_t start = position;
  bool dot = source[position] == '.';
  if (dot || source[position] == '%')
    ++position;
  size_t first = position;
  while (position < source.size()) {
    if (isWord(source[position]))
      ++position;
    else if (dot && source[position] == ':' && peek(1) == ':' &&
             isWord(peek(2)))
      position += 2; // .shared::cta
    else
      break;
  }
  if (position == first)
    return error(token, dot ? "a lone '.'" : "a lone '%'");
  token.kind = dot ? Token::Kind::Dot : Token::Kind::Identifier;
  token.text = dot ? source.substr(first, position - first)
                   : source.substr(start, position - start);
  return token;
}

Token Lexer::number(Token token) {
  size_t start = position;
  unsigned base = 10;
  char mark = peek(1) | 0x20;
  if (source[position] == '0' && (mark == 'f' || mark == 'd')) {
    size_t digits = mark == 'f' ? 8 : 16;
    position += 2;
    for (size_t i = 0; i < digits; ++i, ++position) {
      unsigned digit = digitValue(peek());
      if (digit > 15)
        return error(token, "a hexadecimal float with too few digits");
      token.value = token.value << 4 | digit;
    }
    token.kind = mark == 'f' ? Token::Kind::Float : Token::Kind::Double;
    token.text = source.substr(start, position - start);
    if (isWord(peek()))
      return error(token, "a hexadecimal float with too many digits");
    return token;
  }
  if (source[position] == '0' && (mark == 'x' || mark == 'b')) {
    base = mark == 'x' ? 16 : 2;
    position += 2;
  } else if (source[position] == '0' && isDigit(peek(1))) {
    base = 8;
  }
  size_t first = position;
  bool overflow = false;
  while (digitValue(peek()) < base) {
    unsigned __int128 wide =
        static_cast<unsigned __int128>(token.value) * base + digitValue(peek());
    token.value = static_cast<uint64_t>(wide);
    overflow |= wide >> 64 != 0;
    ++position;
  }
  if (base == 10 && (peek() == '.' || (peek() | 0x20) == 'e')) {
    position = start;
    return decimalFloat(token);
  }
  if (position == first)
    return error(token, "a number without digits");
  if (overflow)
    return error(token, "an integer above 64 bits");
  if (peek() == 'U')
    ++position;
  if (isWord(peek()))
    return error(token, "a malformed number");
  token.kind = Token::Kind::Integer;
  token.text = source.substr(start, position - start);
  return token;
}

Token Lexer::decimalFloat(Token token) {
  double value = 0;
  const char *begin = source.data() + position;
  auto [end, problem] =
      std::from_chars(begin, source.data() + source.size(), value);
  if (problem != std::errc() && problem != std::errc::result_out_of_range)
    return error(token, "a malformed number");
  token.text = source.substr(position, end - begin);
  position += end - begin;
  if (isWord(peek()))
    return error(token, "a malformed number");
  token.kind = Token::Kind::Double;
  token.value = std::bit_cast<uint64_t>(value);
  return token;
}

} // namespace pascaline::emulator::ptx
