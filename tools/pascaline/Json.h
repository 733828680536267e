// Json.h - a writer of JSON: commas and escapes, nothing more.
//
// Test: test/runtime/CliTest.cpp
#pragma once

#include <cstdint>
#include <string>

namespace pascaline::cli {

class Json {
public:
  Json &open(char bracket) {
    separate();
    text += bracket;
    first = true;
    return *this;
  }
  Json &close(char bracket) {
    text += bracket;
    first = false;
    return *this;
  }
  Json &key(const char *name) {
    value(name);
    text += ": ";
    first = true; // no comma between a key and its value
    return *this;
  }
  // Names come from models: what is no UTF-8 is replaced, so that the file is
  // JSON whatever they hold.
  Json &value(const char *string);
  Json &value(double number);
  Json &value(uint64_t number) { return raw(std::to_string(number)); }
  Json &value(int64_t number) { return raw(std::to_string(number)); }

  std::string finish() { return text + "\n"; }

private:
  Json &raw(const std::string &token) {
    separate();
    text += token;
    return *this;
  }
  void separate() {
    if (!first)
      text += ", ";
    first = false;
  }

  std::string text;
  bool first = true;
};

} // namespace pascaline::cli
