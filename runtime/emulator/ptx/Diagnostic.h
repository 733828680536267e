// Diagnostic.h - what was wrong with a PTX text, and where.
//
// The first error ends parsing and translation, so one value holds it. Shared
// by the parser and the translator. Test: test/emulator/PtxParserTest.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace pascaline::emulator {

enum class ErrorKind {
  None,
  InvalidPtx,         // not PTX, or an instruction that is not known
  UnsupportedVersion, // .version newer than this parser knows
  UnsupportedTarget,  // .target above what the emulated device offers
  Unsupported,        // known to PTX, not to the emulator (textures, ...)
  Internal,           // the host compiler refused what was translated
};

struct Diagnostic {
  ErrorKind kind = ErrorKind::None;
  uint32_t line = 0; // 0: the module as a whole
  std::string message;

  // Records the error unless there is one already; returns false for callers
  // that end with `return diagnostic.fail(...)`.
  bool fail(ErrorKind errorKind, uint32_t atLine, std::string text) {
    if (kind == ErrorKind::None) {
      kind = errorKind;
      line = atLine;
      message = std::move(text);
    }
    return false;
  }
  explicit operator bool() const { return kind != ErrorKind::None; }
  std::string text() const {
    return line ? "line " + std::to_string(line) + ": " + message : message;
  }
};

} // namespace pascaline::emulator
