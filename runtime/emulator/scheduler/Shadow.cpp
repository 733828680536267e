#include "runtime/emulator/scheduler/Shadow.h"

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <sys/mman.h>

namespace pascaline::emulator {
namespace {

Shadow *theShadow = nullptr; // set once, before any other thread is here

void *reserveBytes(uint64_t bytes) {
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory != MAP_FAILED)
    madvise(memory, bytes, MADV_HUGEPAGE);
  return memory == MAP_FAILED ? nullptr : memory;
}

void madviseCells(ShadowCell *first, uint64_t count) {
  constexpr uint64_t kPage = 4096;
  uint64_t start = reinterpret_cast<uint64_t>(first);
  uint64_t end = (start + count * sizeof(ShadowCell)) / kPage * kPage;
  start = (start + kPage - 1) / kPage * kPage;
  if (start < end)
    madvise(reinterpret_cast<void *>(start), end - start, MADV_DONTNEED);
}

} // namespace

Shadow *Shadow::get() { return theShadow; }

bool Shadow::wanted() {
  static const bool result = [] {
    const char *text = std::getenv("PASCALINE_EMULATOR_SANITIZE");
    return text && *text && *text != '0';
  }();
  return result;
}

bool Shadow::reserve(uint64_t windowBase, uint64_t deviceBytes) {
  auto *made = new Shadow;
  made->base = windowBase;
  made->bytes = deviceBytes;
  auto cells = [&] {
    return static_cast<ShadowCell *>(
        reserveBytes(deviceBytes * sizeof(ShadowCell)));
  };
  made->states = static_cast<uint8_t *>(reserveBytes(deviceBytes));
  made->splits = static_cast<std::atomic<uint8_t> *>(reserveBytes(deviceBytes));
  made->cells = cells();
  made->parts = cells();
  if (!made->states || !made->splits || !made->cells || !made->parts)
    return false;
  theShadow = made;
  return true;
}

void Shadow::allocate(uint64_t address, uint64_t count) {
  std::memset(state(address), kAllocated, count);
}

void Shadow::release(uint64_t start, uint64_t end) {
  madvise(state(start), end - start, MADV_DONTNEED);
  // Cells stand for 1 to 16 bytes, as kernels want it. Stamps live for a launch
  // only, so it is enough to give back what the usual widths would use.
  for (uint32_t shift : {2, 4})
    for (ShadowCell *all : {cells, parts})
      madviseCells(all + ((start - base) >> shift), (end - start) >> shift);
}

void Shadow::noteDefined(uint64_t address, uint64_t count) {
  if (theShadow && theShadow->covers(address))
    std::memset(theShadow->state(address), kDefined, count);
}

// What is undefined stays so on its way between two places on the device.
void Shadow::noteCopy(uint64_t to, uint64_t from, uint64_t count) {
  if (!theShadow || !theShadow->covers(to))
    return;
  if (theShadow->covers(from))
    std::memmove(theShadow->state(to), theShadow->state(from), count);
  else
    noteDefined(to, count);
}

uint32_t Shadow::nextLaunch() {
  if (++launch == 256) {
    launch = 1;
    madvise(cells, bytes * sizeof(ShadowCell), MADV_DONTNEED);
    madvise(splits, bytes, MADV_DONTNEED);
  }
  return launch;
}

// Who writes the unit looks for a split afterwards, and here the unit's write
// is read again after the split shows: one of the two sees the other.
void Shadow::split(uint64_t address, uint32_t unitShift, uint32_t granuleShift,
                   uint32_t launch) {
  uint64_t unit = (address - base) >> unitShift;
  std::lock_guard<std::mutex> lock(splitting[unit % std::size(splitting)]);
  if (splits[unit].load() == launch)
    return;
  ShadowCell &whole = cells[unit];
  ShadowCell *first = parts + (unit << (unitShift - granuleShift));
  ShadowCell *end = first + (size_t(1) << (unitShift - granuleShift));
  uint64_t write = whole.write.load();
  for (ShadowCell *part = first; part != end; ++part) {
    part->write.store(write);
    part->read.store(whole.read.load());
    part->otherRead.store(whole.otherRead.load());
  }
  splits[unit].store(launch);
  uint64_t later = whole.write.load();
  if (later != write)
    for (ShadowCell *part = first; part != end; ++part) {
      uint64_t expected = write;
      part->write.compare_exchange_strong(expected, later);
    }
}

} // namespace pascaline::emulator
