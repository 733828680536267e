// OutputFile.cpp - see OutputFile.h.
#include "compiler/artifact/OutputFile.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pascaline {
namespace {

bool writeAll(int file, std::string_view data) {
  while (!data.empty()) {
    ssize_t written = write(file, data.data(), data.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return false;
    data.remove_prefix(size_t(written));
  }
  return true;
}

// A name of this process's own, so that two compiles to one path do not mix;
// one left by a process that was killed is passed over.
int createBeside(const std::string &path, std::string &temporary) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    temporary = path + "." + std::to_string(getpid()) + "-" +
                std::to_string(attempt) + ".tmp";
    int file =
        open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST)
      return file;
  }
  return -1;
}

} // namespace

bool writeOutputFile(const std::string &path,
                     std::initializer_list<std::string_view> pieces,
                     std::string &error) {
  struct stat status;
  bool inPlace = stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
  std::string temporary;
  int file = inPlace ? open(path.c_str(), O_WRONLY | O_CLOEXEC)
                     : createBeside(path, temporary);
  if (file < 0) {
    error = path +
            (inPlace ? ": cannot be written: " : ": cannot be created: ") +
            strerror(errno);
    return false;
  }
  bool done = true;
  for (std::string_view piece : pieces)
    done = done && writeAll(file, piece);
  int reason = errno;
  if (close(file) != 0 && done) {
    done = false;
    reason = errno;
  }
  if (done && !inPlace && rename(temporary.c_str(), path.c_str()) != 0) {
    done = false;
    reason = errno;
  }
  if (done)
    return true;
  if (!inPlace)
    unlink(temporary.c_str());
  error = path + ": cannot be written: " + strerror(reason);
  return false;
}

} // namespace pascaline
