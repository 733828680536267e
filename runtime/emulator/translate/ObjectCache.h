// ObjectCache.h - machine code of earlier runs, on disk by content.
//
// Most of a module's load time is LLVM's -O3. An entry's name is a hash of all
// that decides its bytes (HostCompiler.cpp makes it), so an entry is never out
// of date, only unused; the least recently used ones go when the folder is
// larger than its limit.
//
// What is loaded is run. So the folder must be ours and writable by nobody
// else, or it is not used; the same holds for entries. An entry that a crash
// cut off fails its checksum and counts as absent. Several processes may share
// a folder: entries appear whole, by rename, and a deleted one that somebody
// reads stays readable to him. No problem with the cache is an error: it costs
// time.
//
// Threads: all functions may be called at once.
// Test: test/emulator/ObjectCacheTest.cpp.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/MemoryBuffer.h"

#include <array>
#include <atomic>
#include <memory>
#include <string>

namespace pascaline::emulator {

class ObjectCache {
public:
  // SHA-256.
  using Key = std::array<uint8_t, 32>;

  // PASCALINE_EMULATOR_CACHE, read at the first call; null: no cache.
  static const ObjectCache *ofUser();
  // Makes the folder when it is missing. Null: it cannot be used.
  static std::unique_ptr<ObjectCache> open(const std::string &folder,
                                           uint64_t limitBytes);
  ~ObjectCache();

  std::unique_ptr<llvm::MemoryBuffer> load(const Key &key) const;
  void store(const Key &key, llvm::ArrayRef<char> object) const;
  // Deletes what exceeds the limit, the least recently used first; does
  // nothing when nothing was stored since.
  void trim() const;

  static std::string fileName(const Key &key);

private:
  ObjectCache(int folder, uint64_t limitBytes)
      : folder(folder), limitBytes(limitBytes) {}
  int folder; // descriptor: what was checked is what is used
  uint64_t limitBytes;
  mutable std::atomic<bool> grown{false};
};

// What the linker has stamped this library with; empty: nothing, so that
// entries could not be told from those of another build.
std::string emulatorBuildId();

} // namespace pascaline::emulator
