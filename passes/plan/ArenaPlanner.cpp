#include "passes/plan/ArenaPlanner.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace pascaline {
namespace {

int64_t alignTo(int64_t value, int64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

// The largest sum of live bytes: +bytes at first, -bytes after last.
int64_t largestLiveSum(const std::vector<ArenaBuffer> &buffers,
                       int64_t alignment) {
  std::map<int64_t, int64_t> change;
  for (const ArenaBuffer &buffer : buffers) {
    int64_t bytes = alignTo(buffer.bytes, alignment);
    change[buffer.first] += bytes;
    change[buffer.last + 1] -= bytes;
  }
  int64_t live = 0, largest = 0;
  for (auto [step, delta] : change) {
    live += delta;
    largest = std::max(largest, live);
  }
  return largest;
}

} // namespace

ArenaPlan planArena(std::vector<ArenaBuffer> &buffers, int64_t alignment) {
  ArenaPlan plan;
  plan.lowerBound = largestLiveSum(buffers, alignment);

  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  // Ties by index: the result must not depend on the sort.
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return buffers[a].bytes > buffers[b].bytes;
  });

  std::vector<size_t> placed; // by offset
  for (size_t index : order) {
    ArenaBuffer &buffer = buffers[index];
    int64_t bytes = alignTo(buffer.bytes, alignment);
    int64_t offset = 0;
    // Placed buffers come in order of offset, so the first gap that is wide
    // enough between the ones alive with this one is the lowest.
    for (size_t other : placed) {
      const ArenaBuffer &o = buffers[other];
      bool overlap = o.first <= buffer.last && buffer.first <= o.last;
      if (!overlap)
        continue;
      if (offset + bytes <= o.offset)
        break;
      offset = std::max(offset, o.offset + alignTo(o.bytes, alignment));
    }
    buffer.offset = offset;
    plan.bytes = std::max(plan.bytes, offset + bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), index,
                                   [&](size_t a, size_t b) {
                                     return buffers[a].offset <
                                            buffers[b].offset;
                                   }),
                  index);
  }
  return plan;
}

} // namespace pascaline
