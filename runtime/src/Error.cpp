// Error.cpp - see Error.h.
#include "runtime/src/Error.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace pascaline::runtime {
namespace {

// A plain array: it needs no constructor, and storing in it cannot fail.
thread_local char lastMessage[4096];

std::string vformat(const char *text, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(nullptr, 0, text, again);
  va_end(again);
  std::string result(length > 0 ? size_t(length) : 0, '\0');
  vsnprintf(result.data(), result.size() + 1, text, arguments);
  return result;
}

} // namespace

std::string format(const char *text, ...) {
  va_list arguments;
  va_start(arguments, text);
  std::string result = vformat(text, arguments);
  va_end(arguments);
  return result;
}

void fail(pascaline_status status, const char *text, ...) {
  va_list arguments;
  va_start(arguments, text);
  std::string message = vformat(text, arguments);
  va_end(arguments);
  throw Error(status, std::move(message));
}

std::string sizeText(uint64_t bytes) {
  static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024)
    return format("%llu bytes", (unsigned long long)bytes);
  double value = double(bytes) / 1024;
  int unit = 0;
  for (; value >= 1024 && unit < 3; ++unit)
    value /= 1024;
  return format("%.1f %s (%llu bytes)", value, units[unit],
                (unsigned long long)bytes);
}

void setLastError(const char *message) noexcept {
  size_t length = strnlen(message, sizeof lastMessage - 1);
  for (size_t i = 0; i < length; ++i) {
    unsigned char c = message[i];
    lastMessage[i] = c < 0x20 || c == 0x7f ? ' ' : char(c);
  }
  lastMessage[length] = '\0';
}

const char *lastError() noexcept { return lastMessage; }

} // namespace pascaline::runtime
