// Npy.cpp - see Npy.h.
#include "tools/pascaline/Npy.h"

#include "tools/pascaline/Cli.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pascaline::cli {
namespace {

constexpr uint64_t kMaxHeaderBytes = 1 << 16;
constexpr size_t kMaxRank = 32;
constexpr uint64_t kMaxBytes = uint64_t(1) << 48;

struct TypeName {
  const char *descr; // behind the byte order
  pascaline_element_type type;
};
const TypeName kTypeNames[] = {
    {"f4", PASCALINE_F32}, {"f2", PASCALINE_F16}, {"V2", PASCALINE_BF16},
    {"f8", PASCALINE_F64}, {"i1", PASCALINE_I8},  {"u1", PASCALINE_U8},
    {"i2", PASCALINE_I16}, {"u2", PASCALINE_U16}, {"i4", PASCALINE_I32},
    {"u4", PASCALINE_U32}, {"i8", PASCALINE_I64}, {"u8", PASCALINE_U64},
    {"b1", PASCALINE_BOOL}};

// The header is a Python dict of three entries, in any order.
class HeaderParser {
public:
  HeaderParser(const std::string &text, const std::string &path)
      : text(text), path(path) {}

  void parse(NpyArray &array, bool &fortranOrder) {
    bool seen[3] = {};
    expect('{');
    while (!accept('}')) {
      std::string key = quoted();
      expect(':');
      int which = key == "descr" ? 0 : key == "fortran_order" ? 1 : 2;
      if ((which == 2 && key != "shape") || seen[which])
        bad();
      seen[which] = true;
      if (which == 0)
        array.type = elementType();
      else if (which == 1)
        fortranOrder = boolean();
      else
        shape(array.shape);
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skipSpace();
    if (at != text.size() || !seen[0] || !seen[1] || !seen[2])
      bad();
  }

private:
  [[noreturn]] void bad() const {
    throw Failure(path + ": the .npy header is not one that NumPy writes");
  }
  void skipSpace() {
    while (at < text.size() && strchr(" \n\t", text[at]) && text[at])
      ++at;
  }
  bool accept(char c) {
    skipSpace();
    if (at >= text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }
  void expect(char c) {
    if (!accept(c))
      bad();
  }
  std::string quoted() {
    skipSpace();
    char quote = at < text.size() ? text[at] : '\0';
    if (quote != '\'' && quote != '"')
      bad();
    size_t end = text.find(quote, at + 1);
    if (end == std::string::npos)
      bad();
    std::string result = text.substr(at + 1, end - at - 1);
    at = end + 1;
    return result;
  }
  bool boolean() {
    skipSpace();
    for (const char *word : {"False", "True"})
      if (text.compare(at, strlen(word), word) == 0) {
        at += strlen(word);
        return word[0] == 'T';
      }
    bad();
  }
  pascaline_element_type elementType() {
    skipSpace();
    if (at < text.size() && text[at] == '[')
      throw Failure(path + ": holds a structured array; save a plain one");
    std::string descr = quoted();
    if (descr.size() == 3 && descr[0] == '>' && descr[2] != '1')
      throw Failure(path + ": is big-endian (" + descr +
                    "); save it with array.astype(array.dtype.newbyteorder("
                    "'<'))");
    if (descr.size() == 3 && strchr("<|=>", descr[0]))
      for (const TypeName &name : kTypeNames)
        if (descr.compare(1, 2, name.descr) == 0)
          return name.type;
    throw Failure(path + ": has elements of type " + descr.substr(0, 40) +
                  ", which no model takes; convert the array first");
  }
  void shape(std::vector<int64_t> &result) {
    expect('(');
    while (!accept(')')) {
      skipSpace();
      size_t digits = strspn(text.c_str() + at, "0123456789");
      if (digits == 0 || digits > 15 || result.size() == kMaxRank)
        bad();
      result.push_back(std::stoll(text.substr(at, digits)));
      at += digits;
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
  }

  const std::string &text;
  const std::string &path;
  size_t at = 0;
};

class File {
public:
  explicit File(const std::string &path) : path(path) {
    // Not blocking: a pipe would make open() wait for a writer.
    file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    if (file < 0)
      throw Failure(path + ": cannot be opened: " + strerror(errno));
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
      close(file);
      throw Failure(path + ": not a regular file");
    }
    left = uint64_t(status.st_size);
  }
  File(const File &) = delete;
  File &operator=(const File &) = delete;
  ~File() { close(file); }

  void read(void *to, uint64_t bytes) {
    if (bytes > left)
      throw Failure(path + ": ends in the middle of its .npy header");
    char *at = static_cast<char *>(to);
    while (bytes > 0) {
      ssize_t got = ::read(file, at, bytes);
      if (got < 0 && errno == EINTR)
        continue;
      if (got <= 0)
        throw Failure(path + ": cannot be read: " +
                      (got < 0 ? strerror(errno) : "it has become shorter"));
      at += got;
      bytes -= uint64_t(got);
      left -= uint64_t(got);
    }
  }

  uint64_t left;

private:
  const std::string &path;
  int file;
};

// Column-major elements in row-major order.
std::vector<uint8_t> reordered(const NpyArray &array, size_t elementBytes) {
  std::vector<uint8_t> result(array.data.size());
  size_t rank = array.shape.size();
  std::vector<uint64_t> stride(rank), index(rank, 0);
  uint64_t step = elementBytes;
  for (size_t i = 0; i < rank; ++i) {
    stride[i] = step;
    step *= uint64_t(array.shape[i]);
  }
  uint64_t from = 0;
  for (size_t to = 0; to < result.size(); to += elementBytes) {
    memcpy(&result[to], &array.data[from], elementBytes);
    for (size_t i = rank; i-- > 0;) {
      from += stride[i];
      if (++index[i] < uint64_t(array.shape[i]))
        break;
      from -= stride[i] * index[i];
      index[i] = 0;
    }
  }
  return result;
}

} // namespace

NpyArray readNpy(const std::string &path) {
  File file(path);
  unsigned char start[8];
  if (file.left < sizeof start)
    throw Failure(path + ": not a .npy file: it has " +
                  std::to_string(file.left) + " bytes");
  file.read(start, sizeof start);
  if (memcmp(start, "\x93NUMPY", 6) != 0)
    throw Failure(path + ": not a .npy file: it does not start as one does; "
                         "make one with numpy.save");
  int version = start[6];
  if (version < 1 || version > 3)
    throw Failure(format("%s: .npy version is %d, versions 1 to 3 are read",
                         path.c_str(), version));
  unsigned char length[4] = {};
  file.read(length, version == 1 ? 2 : 4);
  uint64_t headerBytes =
      length[0] | length[1] << 8 | length[2] << 16 | uint64_t(length[3]) << 24;
  if (headerBytes > kMaxHeaderBytes)
    throw Failure(format("%s: the .npy header has %llu bytes, more than %llu",
                         path.c_str(), (unsigned long long)headerBytes,
                         (unsigned long long)kMaxHeaderBytes));
  std::string header(headerBytes, '\0');
  file.read(header.data(), headerBytes);

  NpyArray array;
  bool fortranOrder = false;
  HeaderParser(header, path).parse(array, fortranOrder);

  size_t elementBytes = pascaline_element_type_bytes(array.type);
  uint64_t bytes = elementBytes;
  bool empty = false;
  for (int64_t extent : array.shape) {
    if (extent == 0)
      empty = true;
    else if (uint64_t(extent) > kMaxBytes / bytes)
      throw Failure(path + ": the shape in its .npy header is too large");
    else
      bytes *= uint64_t(extent);
  }
  if (empty)
    bytes = 0;
  if (bytes != file.left)
    throw Failure(format("%s: has %llu bytes of elements, its header says %llu",
                         path.c_str(), (unsigned long long)file.left,
                         (unsigned long long)bytes));
  array.data.resize(bytes);
  file.read(array.data.data(), bytes);
  if (fortranOrder && array.shape.size() > 1)
    array.data = reordered(array, elementBytes);
  return array;
}

std::string npyHeader(pascaline_element_type type, const int64_t *shape,
                      size_t rank) {
  std::string dict = "{'descr': '";
  for (const TypeName &name : kTypeNames)
    if (name.type == type)
      dict += (pascaline_element_type_bytes(type) == 1 ? "|" : "<") +
              std::string(name.descr);
  dict += "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < rank; ++i)
    dict += std::to_string(shape[i]) + (rank == 1      ? ","
                                        : i + 1 < rank ? ", "
                                                       : "");
  dict += "), }";
  // Magic, version and length are 10 bytes; data starts at a multiple of 64.
  dict.append(63 - (10 + dict.size()) % 64, ' ');
  dict += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += char(dict.size() & 0xff);
  header += char(dict.size() >> 8);
  return header + dict;
}

HostBuffers::HostBuffers(std::vector<NpyArray> &inputs,
                         const std::vector<pascaline_tensor_info> &outputs) {
  for (NpyArray &array : inputs)
    in.push_back({array.data.data(), array.data.size(), PASCALINE_HOST});
  for (const pascaline_tensor_info &output : outputs) {
    results.emplace_back(output.bytes);
    out.push_back({results.back().data(), output.bytes, PASCALINE_HOST});
  }
}

} // namespace pascaline::cli
