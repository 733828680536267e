// Json.cpp - see Json.h.
#include "tools/pascaline/Json.h"

#include <cmath>
#include <cstdio>
#include <cstring>

namespace pascaline::cli {
namespace {

// Bytes of the well-formed UTF-8 sequence that starts here, 0 if there is none
// (Unicode 15, table 3-7). Reads no further than the final NUL.
int sequenceBytes(const unsigned char *s) {
  auto between = [](unsigned char c, int low, int high) {
    return c >= low && c <= high;
  };
  auto tail = [&](int at) { return between(s[at], 0x80, 0xbf); };
  if (s[0] < 0x80)
    return 1;
  if (between(s[0], 0xc2, 0xdf))
    return tail(1) ? 2 : 0;
  if (between(s[0], 0xe0, 0xef)) {
    int low = s[0] == 0xe0 ? 0xa0 : 0x80, high = s[0] == 0xed ? 0x9f : 0xbf;
    return between(s[1], low, high) && tail(2) ? 3 : 0;
  }
  if (between(s[0], 0xf0, 0xf4)) {
    int low = s[0] == 0xf0 ? 0x90 : 0x80, high = s[0] == 0xf4 ? 0x8f : 0xbf;
    return between(s[1], low, high) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

} // namespace

Json &Json::value(const char *string) {
  separate();
  text += '"';
  auto *at = reinterpret_cast<const unsigned char *>(string);
  while (*at) {
    int bytes = sequenceBytes(at);
    if (bytes == 0) {
      text += "\xef\xbf\xbd"; // the replacement character
      bytes = 1;
    } else if (*at == '"' || *at == '\\') {
      text += '\\';
      text += char(*at);
    } else if (*at < 0x20) {
      char escape[8];
      snprintf(escape, sizeof escape, "\\u%04x", *at);
      text += escape;
    } else {
      text.append(reinterpret_cast<const char *>(at), size_t(bytes));
    }
    at += bytes;
  }
  text += '"';
  return *this;
}

Json &Json::value(double number) {
  if (!std::isfinite(number))
    return raw("null");
  char digits[40];
  snprintf(digits, sizeof digits, "%.3f", number);
  return raw(digits);
}

} // namespace pascaline::cli
