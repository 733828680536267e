#include "runtime/emulator/translate/ObjectCache.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace pascaline::emulator {
namespace {

constexpr uint64_t kDefaultLimit = uint64_t(512) << 20;
constexpr char kMagic[8] = {'p', 's', 'c', 'l', 'j', 'i', 't', '1'};
constexpr size_t kHeaderBytes = sizeof kMagic + sizeof(ObjectCache::Key);
constexpr char kTemporary[] = ".new-";
constexpr time_t kStaleSeconds = 3600; // of a temporary that nobody finished

ObjectCache::Key checksum(llvm::ArrayRef<char> bytes) {
  return llvm::SHA256::hash(
      {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
}

class Descriptor {
public:
  explicit Descriptor(int number) : number(number) {}
  Descriptor(const Descriptor &) = delete;
  ~Descriptor() {
    if (number >= 0)
      ::close(number);
  }
  operator int() const { return number; }

private:
  int number;
};

bool isOursAlone(const struct stat &state) {
  return state.st_uid == geteuid() && !(state.st_mode & (S_IWGRP | S_IWOTH));
}

bool readAll(int file, char *to, size_t bytes) {
  while (bytes) {
    ssize_t got = ::read(file, to, bytes);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    to += got, bytes -= size_t(got);
  }
  return true;
}

bool writeAll(int file, const char *from, size_t bytes) {
  while (bytes) {
    ssize_t put = ::write(file, from, bytes);
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      return false;
    from += put, bytes -= size_t(put);
  }
  return true;
}

bool makeFolders(const std::string &folder) {
  for (size_t end = 1; end < folder.size();) {
    end = std::min(folder.find('/', end), folder.size());
    std::string part = folder.substr(0, end++);
    if (mkdir(part.c_str(), 0700) && errno != EEXIST)
      return false;
  }
  return true;
}

// "" for none. A program with another's rights takes no folder from whoever
// started it.
std::string folderOfUser() {
  if (const char *given = secure_getenv("PASCALINE_EMULATOR_CACHE");
      given && *given)
    return std::strcmp(given, "off") ? given : "";
  if (const char *cache = secure_getenv("XDG_CACHE_HOME");
      cache && *cache == '/')
    return std::string(cache) + "/pascaline/emulator";
  if (const char *home = secure_getenv("HOME"); home && *home == '/')
    return std::string(home) + "/.cache/pascaline/emulator";
  return "";
}

uint64_t limitOfUser() {
  const char *text = secure_getenv("PASCALINE_EMULATOR_CACHE_SIZE");
  long long given = text ? std::atoll(text) : 0;
  return given > 0 ? uint64_t(given) : kDefaultLimit;
}

} // namespace

const ObjectCache *ObjectCache::ofUser() {
  // Never destroyed: other threads may be compiling at exit.
  static const ObjectCache *cache = [] {
    std::string folder = folderOfUser();
    return folder.empty() || emulatorBuildId().empty()
               ? nullptr
               : open(folder, limitOfUser()).release();
  }();
  return cache;
}

std::unique_ptr<ObjectCache> ObjectCache::open(const std::string &folder,
                                               uint64_t limitBytes) {
  if (!makeFolders(folder))
    return nullptr;
  int opened = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0)
    return nullptr;
  struct stat state;
  if (fstat(opened, &state) || !isOursAlone(state)) {
    ::close(opened);
    return nullptr;
  }
  return std::unique_ptr<ObjectCache>(new ObjectCache(opened, limitBytes));
}

ObjectCache::~ObjectCache() { ::close(folder); }

std::string ObjectCache::fileName(const Key &key) {
  return llvm::toHex(key, /*LowerCase=*/true);
}

std::unique_ptr<llvm::MemoryBuffer> ObjectCache::load(const Key &key) const {
  std::string name = fileName(key);
  Descriptor file(openat(folder, name.c_str(),
                         O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat state;
  if (file < 0 || fstat(file, &state) || !S_ISREG(state.st_mode) ||
      !isOursAlone(state) || size_t(state.st_size) <= kHeaderBytes ||
      uint64_t(state.st_size) > limitBytes)
    return nullptr;
  char header[kHeaderBytes];
  size_t bytes = size_t(state.st_size) - kHeaderBytes;
  auto object = llvm::WritableMemoryBuffer::getNewUninitMemBuffer(bytes, name);
  if (!object || !readAll(file, header, sizeof header) ||
      !readAll(file, object->getBufferStart(), bytes) ||
      std::memcmp(header, kMagic, sizeof kMagic))
    return nullptr;
  Key sum = checksum({object->getBufferStart(), bytes});
  if (std::memcmp(header + sizeof kMagic, sum.data(), sum.size()))
    return nullptr;
  futimens(file, nullptr); // used just now
  return object;
}

void ObjectCache::store(const Key &key, llvm::ArrayRef<char> object) const {
  if (object.empty() || object.size() + kHeaderBytes > limitBytes)
    return;
  static std::atomic<unsigned> count{0};
  std::string temporary =
      kTemporary + std::to_string(getpid()) + "-" + std::to_string(count++);
  Descriptor file(openat(folder, temporary.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                         0600));
  if (file < 0)
    return;
  Key sum = checksum(object);
  if (!writeAll(file, kMagic, sizeof kMagic) ||
      !writeAll(file, reinterpret_cast<char *>(sum.data()), sum.size()) ||
      !writeAll(file, object.data(), object.size()) ||
      renameat(folder, temporary.c_str(), folder, fileName(key).c_str()))
    unlinkat(folder, temporary.c_str(), 0);
  else
    grown = true;
}

void ObjectCache::trim() const {
  struct Entry {
    timespec used;
    uint64_t bytes;
    std::string name;
  };
  if (!grown.exchange(false))
    return;
  int listed = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *list = listed < 0 ? nullptr : fdopendir(listed);
  if (!list) {
    if (listed >= 0)
      ::close(listed);
    return;
  }
  std::vector<Entry> entries;
  uint64_t total = 0;
  time_t now = std::time(nullptr);
  while (const dirent *each = readdir(list)) {
    llvm::StringRef name = each->d_name;
    bool isTemporary = name.starts_with(kTemporary);
    struct stat state;
    // Files of other names are not ours to count or delete.
    if ((!isTemporary && (name.size() != 2 * sizeof(Key) ||
                          !llvm::all_of(name, llvm::isHexDigit))) ||
        fstatat(folder, each->d_name, &state, AT_SYMLINK_NOFOLLOW) ||
        !S_ISREG(state.st_mode))
      continue;
    if (isTemporary) {
      if (state.st_mtim.tv_sec + kStaleSeconds < now)
        unlinkat(folder, each->d_name, 0);
      continue;
    }
    entries.push_back({state.st_mtim, uint64_t(state.st_size), name.str()});
    total += uint64_t(state.st_size);
  }
  closedir(list);
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
    return a.used.tv_sec != b.used.tv_sec ? a.used.tv_sec < b.used.tv_sec
                                          : a.used.tv_nsec < b.used.tv_nsec;
  });
  for (const Entry &entry : entries) {
    if (total <= limitBytes)
      break;
    unlinkat(folder, entry.name.c_str(), 0);
    total -= entry.bytes;
  }
}

namespace {

// The notes of the loaded object that this code is in.
int findBuildId(dl_phdr_info *object, size_t, void *found) {
  uint64_t here = reinterpret_cast<uint64_t>(&findBuildId) - object->dlpi_addr;
  auto *segments = object->dlpi_phdr;
  auto *end = segments + object->dlpi_phnum;
  if (std::none_of(segments, end, [&](const ElfW(Phdr) & s) {
        return s.p_type == PT_LOAD && here - s.p_vaddr < s.p_memsz;
      }))
    return 0;
  auto padded = [](size_t bytes) { return (bytes + 3) & ~size_t(3); };
  for (auto *segment = segments; segment != end; ++segment) {
    if (segment->p_type != PT_NOTE)
      continue;
    auto *at =
        reinterpret_cast<const char *>(object->dlpi_addr + segment->p_vaddr);
    for (auto *last = at + segment->p_memsz; at + sizeof(ElfW(Nhdr)) <= last;) {
      auto *note = reinterpret_cast<const ElfW(Nhdr) *>(at);
      const char *name = at + sizeof *note;
      const char *value = name + padded(note->n_namesz);
      if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
          !std::memcmp(name, "GNU", 4))
        static_cast<std::string *>(found)->assign(value, note->n_descsz);
      at = value + padded(note->n_descsz);
    }
  }
  return 1;
}

} // namespace

std::string emulatorBuildId() {
  std::string id;
  dl_iterate_phdr(findBuildId, &id);
  return id;
}

} // namespace pascaline::emulator
