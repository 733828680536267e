#include "runtime/emulator/scheduler/WarpAccess.h"

#include <algorithm>

namespace pascaline::emulator {
namespace {

constexpr uint32_t kBanks = 32;
constexpr uint32_t kWordBytes = 4;
constexpr uint32_t kSectorBytes = 32;
constexpr uint32_t kMostBytes = 16;

template <typename F> void forEachLane(uint32_t mask, F &&each) {
  for (; mask; mask &= mask - 1)
    each(uint32_t(__builtin_ctz(mask)));
}

// A set of numbers of which most come in order.
template <size_t kMost> class Numbers {
public:
  void add(uint64_t number) {
    if (count && numbers[count - 1] == number)
      return;
    sorted &= !count || numbers[count - 1] < number;
    numbers[count++] = number;
  }
  void makeUnique() {
    if (sorted)
      return;
    std::sort(numbers, numbers + count);
    count = std::unique(numbers, numbers + count) - numbers;
  }
  size_t size() const { return count; }
  uint64_t operator[](size_t i) const { return numbers[i]; }

private:
  uint64_t numbers[kMost];
  size_t count = 0;
  bool sorted = true;
};

// The numbers of all units of `size` bytes that the access touches.
template <typename F>
void forEachUnit(const WarpAccess &access, uint32_t size, F &&each) {
  forEachLane(access.mask, [&](uint32_t lane) {
    uint64_t address = access.addresses[lane];
    uint64_t last = (address + access.bytes - 1) / size;
    for (uint64_t unit = address / size; unit <= last; ++unit)
      each(unit, lane);
  });
}

uint32_t uniqueUnits(const WarpAccess &access, uint32_t size) {
  Numbers<kWarpLanes *(kMostBytes / kWordBytes + 1)> units;
  forEachUnit(access, size, [&](uint64_t unit, uint32_t) { units.add(unit); });
  units.makeUnique();
  return uint32_t(units.size());
}

uint32_t passes(const WarpAccess &access, bool atomic) {
  uint32_t load[kBanks] = {};
  if (atomic) {
    forEachUnit(access, kWordBytes,
                [&](uint64_t word, uint32_t) { ++load[word % kBanks]; });
    return *std::max_element(load, load + kBanks);
  }
  // One word a bank at first; once a bank has two, all words are sorted.
  uint64_t word[kBanks];
  bool conflicts = false;
  forEachUnit(access, kWordBytes, [&](uint64_t each, uint32_t) {
    uint32_t bank = each % kBanks;
    conflicts |= load[bank] && word[bank] != each;
    load[bank] = 1;
    word[bank] = each;
  });
  if (!conflicts)
    return access.mask != 0;
  Numbers<kWarpLanes *(kMostBytes / kWordBytes + 1)> words;
  forEachUnit(access, kWordBytes,
              [&](uint64_t each, uint32_t) { words.add(each); });
  words.makeUnique();
  std::fill_n(load, kBanks, 0);
  for (size_t i = 0; i < words.size(); ++i)
    ++load[words[i] % kBanks];
  return *std::max_element(load, load + kBanks);
}

} // namespace

uint32_t globalSectors(const WarpAccess &access) {
  return uniqueUnits(access, kSectorBytes);
}

uint32_t sharedWavefronts(const WarpAccess &access, bool atomic) {
  uint32_t parts = std::max(access.bytes / kWordBytes, 1u);
  uint32_t lanes = kWarpLanes / parts;
  uint32_t total = 0;
  for (uint32_t part = 0; part < parts; ++part) {
    uint32_t some = uint32_t((uint64_t(1) << lanes) - 1) << part * lanes;
    if (uint32_t mask = access.mask & some)
      total += passes({access.addresses, mask, access.bytes}, atomic);
  }
  return total;
}

uint32_t localSectors(const WarpAccess &access) {
  constexpr uint32_t kLanesOfSector = kSectorBytes / kWordBytes;
  constexpr uint32_t kSectorsOfWord = kWarpLanes / kLanesOfSector;
  Numbers<kWarpLanes *(kMostBytes / kWordBytes + 1)> sectors;
  forEachUnit(access, kWordBytes, [&](uint64_t word, uint32_t lane) {
    sectors.add(word * kSectorsOfWord + lane / kLanesOfSector);
  });
  sectors.makeUnique();
  return uint32_t(sectors.size());
}

uint32_t constantWords(const WarpAccess &access) {
  return uniqueUnits(access, kWordBytes);
}

} // namespace pascaline::emulator
