// Error.h - how the runtime fails inside: it throws Error, and guarded() at the
// C boundary turns that into a status and this thread's last error.
#pragma once

#include "pascaline/pascaline.h"

#include <exception>
#include <new>
#include <string>

namespace pascaline::runtime {

class Error : public std::exception {
public:
  Error(pascaline_status status, std::string message)
      : code(status), message(std::move(message)) {}
  pascaline_status status() const { return code; }
  const char *what() const noexcept override { return message.c_str(); }

private:
  pascaline_status code;
  std::string message;
};

std::string format(const char *text, ...) __attribute__((format(printf, 1, 2)));

[[noreturn]] void fail(pascaline_status status, const char *text, ...)
    __attribute__((format(printf, 2, 3)));

// "1.5 GiB (1610612736 bytes)"
std::string sizeText(uint64_t bytes);

// Never throws: cuts what is too long, and makes one line of it, because names
// in a message may come from a hostile file.
void setLastError(const char *message) noexcept;
const char *lastError() noexcept;

template <class Function>
pascaline_status guarded(Function &&function) noexcept {
  try {
    function();
    return PASCALINE_OK;
  } catch (const Error &error) {
    setLastError(error.what());
    return error.status();
  } catch (const std::bad_alloc &) {
    setLastError("the host is out of memory");
    return PASCALINE_OUT_OF_HOST_MEMORY;
  } catch (const std::exception &error) {
    setLastError(error.what());
    return PASCALINE_INTERNAL_ERROR;
  } catch (...) {
    setLastError("an unknown exception was thrown");
    return PASCALINE_INTERNAL_ERROR;
  }
}

} // namespace pascaline::runtime
