#include "runtime/emulator/scheduler/DeviceMemory.h"
#include "runtime/emulator/scheduler/Shadow.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <sys/mman.h>

namespace pascaline::emulator {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kAlignment = 256;
constexpr uint64_t kHugePage = 2 << 20;
// Generated code maps a null pointer to the window's start: nothing lies there.
constexpr uint64_t kNullBytes = 1 << 20;
// A worker's shared window: 4 GiB that a 32-bit offset reaches and 2 GiB on
// each side for the displacement.
constexpr uint64_t kSharedStride = uint64_t(8) << 30;
constexpr uint64_t kSharedLead = uint64_t(2) << 30;
constexpr uint64_t kLocalStride = kLocalWindowBytes * kMaxThreadsPerBlock;
constexpr uint64_t kSharedOffset =
    kGlobalWindowBytes - kSharedStride * kMaxWorkers;
constexpr uint64_t kLocalOffset = kSharedOffset - kLocalStride * kMaxWorkers;
static_assert(kLocalOffset > kGlobalWindowBytes / 4, "the window is too small");

constexpr uint64_t kDefaultLimit = uint64_t(11) << 30; // a GTX 1080 Ti's

uint64_t roundUp(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

uint64_t readLimit() {
  const char *text = std::getenv("PASCALINE_EMULATOR_MEMORY");
  if (!text || *text < '0' || *text > '9')
    return kDefaultLimit;
  errno = 0;
  char *end = nullptr;
  uint64_t value = std::strtoull(text, &end, 10);
  if (errno || *end || value > kLocalOffset)
    return kDefaultLimit;
  return value;
}

uint64_t reserveWindow() {
  uint64_t size = 2 * kGlobalWindowBytes + 2 * kGuardBytes;
  void *memory = mmap(nullptr, size, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return 0;
  uint64_t start = reinterpret_cast<uint64_t>(memory);
  uint64_t window = roundUp(start + kGuardBytes, kGlobalWindowBytes);
  uint64_t first = window - kGuardBytes;
  uint64_t last = window + kGlobalWindowBytes + kGuardBytes;
  if (first > start)
    munmap(memory, first - start);
  if (start + size > last)
    munmap(reinterpret_cast<void *>(last), start + size - last);
  return window;
}

} // namespace

DeviceMemory &DeviceMemory::get() {
  static DeviceMemory *memory = new DeviceMemory;
  return *memory;
}

uint64_t DeviceMemory::mostBytes() { return kLocalOffset; }

DeviceMemory::DeviceMemory() : base(reserveWindow()), limit(readLimit()) {
  const char *poisonText = std::getenv("PASCALINE_EMULATOR_POISON");
  poison = poisonText && *poisonText && *poisonText != '0';
  if (base && Shadow::wanted() && !Shadow::reserve(base, kLocalOffset))
    base = 0; // as without the window itself
  cursor = base + kNullBytes;
  freeRanges[cursor] = base + kLocalOffset;
}

uint64_t DeviceMemory::sharedWindow(unsigned worker) const {
  return base + kSharedOffset + worker * kSharedStride + kSharedLead;
}

uint64_t DeviceMemory::localWindow(unsigned worker) const {
  return base + kLocalOffset + worker * kLocalStride;
}

AllocationStatus DeviceMemory::allocate(uint64_t bytes, const void *owner,
                                        uint64_t *address) {
  if (!base)
    return AllocationStatus::NoWindow;
  std::lock_guard<std::mutex> lock(mutex);
  if (bytes > limit)
    return AllocationStatus::OutOfMemory;
  uint64_t rounded = roundUp(bytes, kAlignment);
  uint64_t pages = roundUp(rounded, kPage);
  if (pages > limit - used)
    return AllocationStatus::OutOfMemory;

  // A large allocation starts on a huge page; each is followed by one page
  // that nobody may touch.
  uint64_t alignment = pages >= 2 * kHugePage ? kHugePage : kPage;
  uint64_t start = 0;
  auto fits = [&](std::map<uint64_t, uint64_t>::iterator range, uint64_t from) {
    uint64_t candidate = roundUp(std::max(range->first, from), alignment);
    if (candidate > range->second || range->second - candidate < pages + kPage)
      return false;
    start = candidate;
    return true;
  };
  auto range = freeRanges.upper_bound(cursor);
  if (range != freeRanges.begin())
    --range;
  while (range != freeRanges.end() && !fits(range, cursor))
    ++range;
  if (range == freeRanges.end()) {
    range = freeRanges.begin();
    while (range != freeRanges.end() && !fits(range, 0))
      ++range;
    if (range == freeRanges.end())
      return AllocationStatus::OutOfMemory;
  }

  void *memory = reinterpret_cast<void *>(start);
  if (mprotect(memory, pages, PROT_READ | PROT_WRITE))
    return AllocationStatus::OutOfMemory; // vm.max_map_count, most likely
  if (alignment == kHugePage)
    madvise(memory, pages, MADV_HUGEPAGE);

  uint64_t rangeStart = range->first, rangeEnd = range->second;
  uint64_t end = start + pages + kPage;
  freeRanges.erase(range);
  if (rangeStart < start)
    freeRanges[rangeStart] = start;
  if (end < rangeEnd)
    freeRanges[end] = rangeEnd;
  cursor = end;
  used += pages;
  *address = start + pages - rounded;
  live[*address] = {*address, bytes, owner};
  if (Shadow *shadow = Shadow::get())
    shadow->allocate(*address, bytes);
  return AllocationStatus::Done;
}

void DeviceMemory::releaseLocked(
    std::map<uint64_t, Allocation>::iterator allocation) {
  uint64_t start = allocation->first / kPage * kPage;
  uint64_t end =
      allocation->first + roundUp(allocation->second.bytes, kAlignment);
  // Mapping afresh gives the pages back and takes the access away at once.
  mmap(reinterpret_cast<void *>(start), end - start, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (Shadow *shadow = Shadow::get())
    shadow->release(start, end);
  used -= end - start;
  live.erase(allocation);

  end += kPage;
  auto next = freeRanges.lower_bound(start);
  if (next != freeRanges.end() && next->first == end) {
    end = next->second;
    next = freeRanges.erase(next);
  }
  if (next != freeRanges.begin()) {
    auto previous = std::prev(next);
    if (previous->second == start) {
      previous->second = end;
      return;
    }
  }
  freeRanges[start] = end;
}

bool DeviceMemory::release(uint64_t address) {
  std::lock_guard<std::mutex> lock(mutex);
  auto allocation = live.find(address);
  if (allocation == live.end())
    return false;
  releaseLocked(allocation);
  return true;
}

void DeviceMemory::releaseAllOf(const void *owner) {
  std::lock_guard<std::mutex> lock(mutex);
  for (auto i = live.begin(); i != live.end();) {
    auto allocation = i++;
    if (allocation->second.owner == owner)
      releaseLocked(allocation);
  }
}

std::optional<Allocation> DeviceMemory::find(uint64_t address,
                                             uint64_t bytes) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto allocation = live.upper_bound(address);
  if (allocation == live.begin())
    return std::nullopt;
  const Allocation &found = std::prev(allocation)->second;
  uint64_t offset = address - found.address;
  if (offset > found.bytes || bytes > found.bytes - offset)
    return std::nullopt;
  return found;
}

uint64_t DeviceMemory::freeBytes() const {
  std::lock_guard<std::mutex> lock(mutex);
  return limit - used;
}

std::string DeviceMemory::describe(uint64_t address) const {
  if (!base || address - base >= kGlobalWindowBytes)
    return "outside device memory";
  if (address >= base + kSharedOffset)
    return "outside the block's shared memory";
  if (address >= base + kLocalOffset)
    return "outside the thread's local memory";
  if (address - base < kNullBytes)
    return "a null pointer";
  std::lock_guard<std::mutex> lock(mutex);
  auto next = live.upper_bound(address);
  if (next != live.begin()) {
    const Allocation &before = std::prev(next)->second;
    uint64_t end = before.address + before.bytes;
    if (address < end)
      return "inside an allocation of " + std::to_string(before.bytes) +
             " bytes";
    if (address - end < kHugePage)
      return std::to_string(address - end) +
             " bytes past the end of an allocation of " +
             std::to_string(before.bytes) + " bytes";
  }
  if (next != live.end() && next->first - address < kHugePage)
    return std::to_string(next->first - address) +
           " bytes before an allocation of " +
           std::to_string(next->second.bytes) + " bytes";
  return "in no allocation";
}

} // namespace pascaline::emulator
