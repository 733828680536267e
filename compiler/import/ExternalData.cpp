// ExternalData.cpp - reading a tensor from a file beside the model.
//
// The location comes from the model, so it is hostile: only a regular file
// whose real path lies in the model's folder is opened, and only if it has no
// second name (a hard link could lead anywhere).
#include "compiler/import/Tensors.h"
#include "compiler/import/Text.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using llvm::StringRef;

namespace pascaline::importer {
namespace {

// An open file and the place of a tensor in it.
struct Extent {
  int file = -1;
  uint64_t offset = 0;

  Extent() = default;
  Extent(const Extent &) = delete;
  Extent &operator=(const Extent &) = delete;
  ~Extent() {
    if (file >= 0)
      ::close(file);
  }
};

bool openInside(StringRef folder, StringRef location, Extent &extent,
                uint64_t &size, std::string &error) {
  if (folder.empty()) {
    error = "has external data, which a model in memory may not have";
    return false;
  }
  std::string what = cat("has external data ", quoted(location));
  bool climbs = false;
  for (StringRef part : llvm::make_range(llvm::sys::path::begin(location),
                                         llvm::sys::path::end(location)))
    climbs |= part == "..";
  if (location.empty() || location.contains('\0') || climbs ||
      llvm::sys::path::is_absolute(location)) {
    error = what +
            ", which is not a relative path inside the model's folder; keep "
            "the data beside the model";
    return false;
  }

  llvm::SmallString<256> root, path(folder), real;
  llvm::sys::path::append(path, location);
  if (llvm::sys::fs::real_path(folder, root)) {
    error = cat("has external data in the folder ", quoted(folder),
                ", which cannot be resolved");
    return false;
  }
  if (std::error_code code = llvm::sys::fs::real_path(path, real)) {
    error = cat(what, ", which cannot be opened: ", code.message());
    return false;
  }
  StringRef inside = real;
  if (!inside.consume_front(root) ||
      (root != "/" && !inside.starts_with("/"))) {
    error = what + ", which is a link out of the model's folder; keep the data "
                   "beside the model";
    return false;
  }
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  extent.file =
      ::open(real.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  struct stat status;
  if (extent.file < 0 || ::fstat(extent.file, &status) != 0) {
    error = cat(what, ", which cannot be opened: ", std::strerror(errno));
    return false;
  }
  if (!S_ISREG(status.st_mode)) {
    error = what + ", which is not a regular file";
    return false;
  }
  if (status.st_nlink > 1) {
    error = cat(what, ", which has ", uint64_t(status.st_nlink),
                " hard links and may lie outside the model's folder; copy it");
    return false;
  }
  size = static_cast<uint64_t>(status.st_size);
  return true;
}

bool openExtent(const Tensor &tensor, StringRef folder, uint64_t bytes,
                Extent &extent, std::string &error) {
  StringRef location, offset = "0", length;
  for (const auto &[key, value] : tensor.externalData) {
    if (key == "location")
      location = value;
    else if (key == "offset")
      offset = value;
    else if (key == "length")
      length = value;
  }
  if (offset.getAsInteger(10, extent.offset)) {
    error = cat("has external data with offset ", quoted(offset),
                ", which is not a number of bytes");
    return false;
  }
  uint64_t given = bytes;
  if (!length.empty() && length.getAsInteger(10, given)) {
    error = cat("has external data with length ", quoted(length),
                ", which is not a number of bytes");
    return false;
  }
  if (given != bytes) {
    error = cat("has external data of ", given, " bytes where its type takes ",
                bytes);
    return false;
  }
  uint64_t size = 0;
  if (!openInside(folder, location, extent, size, error))
    return false;
  if (extent.offset > size || size - extent.offset < bytes) {
    error = cat("has external data of ", bytes, " bytes at offset ",
                extent.offset, " of ", quoted(location), ", which has ", size);
    return false;
  }
  return true;
}

} // namespace

bool checkExternalData(const Tensor &tensor, StringRef folder, uint64_t bytes,
                       std::string &error) {
  Extent extent;
  return openExtent(tensor, folder, bytes, extent, error);
}

bool readExternalData(const Tensor &tensor, StringRef folder,
                      llvm::MutableArrayRef<char> bytes, std::string &error) {
  Extent extent;
  if (!openExtent(tensor, folder, bytes.size(), extent, error))
    return false;
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t got = ::pread(extent.file, bytes.data() + done, bytes.size() - done,
                          static_cast<off_t>(extent.offset + done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0) {
      error = cat("has external data that cannot be read: ",
                  got < 0 ? std::strerror(errno) : "the file became shorter");
      return false;
    }
    done += static_cast<size_t>(got);
  }
  return true;
}

} // namespace pascaline::importer
