#include "runtime/emulator/scheduler/Shadow.h"

#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

namespace pascaline::emulator {
namespace {

Shadow *theShadow = nullptr; // set once, before any other thread is here

void *reserveBytes(uint64_t bytes) {
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
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
  made->states = static_cast<uint8_t *>(reserveBytes(deviceBytes));
  made->cells =
      static_cast<ShadowCell *>(reserveBytes(deviceBytes * sizeof(ShadowCell)));
  if (!made->states || !made->cells)
    return false;
  theShadow = made;
  return true;
}

void Shadow::allocate(uint64_t address, uint64_t count) {
  std::memset(state(address), kAllocated, count);
}

void Shadow::release(uint64_t start, uint64_t end) {
  madvise(state(start), end - start, MADV_DONTNEED);
  // A kernel's granules may be bytes or 16 of them. Stamps live for a launch
  // only, so it is enough to give back what a byte's would use.
  madvise(cell(start, 2), ((end - start) >> 2) * sizeof(ShadowCell),
          MADV_DONTNEED);
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
  }
  return launch;
}

} // namespace pascaline::emulator
