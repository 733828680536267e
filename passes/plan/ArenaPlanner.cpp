#include "passes/plan/ArenaPlanner.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <random>

namespace pascaline {
namespace {

// Bounds the search: a placement looks at most at each pair of buffers, and
// this many looks take some tens of milliseconds.
constexpr int64_t kSearchSteps = 20'000'000;

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

// Places the buffers in the given order, each at the lowest offset where no
// placed buffer that lives at the same time lies. Returns the arena's bytes.
int64_t place(std::vector<ArenaBuffer> &buffers,
              const std::vector<size_t> &order, int64_t alignment) {
  int64_t end = 0;
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
    end = std::max(end, offset + bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), index,
                                   [&](size_t a, size_t b) {
                                     return buffers[a].offset <
                                            buffers[b].offset;
                                   }),
                  index);
  }
  return end;
}

} // namespace

ArenaPlan planArena(std::vector<ArenaBuffer> &buffers, int64_t alignment) {
  ArenaPlan plan;
  plan.lowerBound = largestLiveSum(buffers, alignment);
  if (buffers.empty())
    return plan;

  std::vector<ArenaBuffer> best;
  std::vector<size_t> bestOrder;
  auto attempt = [&](const std::vector<size_t> &order) {
    int64_t bytes = place(buffers, order, alignment);
    // Equally good orders are taken too: they lead off a plateau.
    if (!best.empty() && bytes > plan.bytes)
      return;
    plan.bytes = bytes;
    best = buffers;
    bestOrder = order;
  };

  auto life = [&](size_t i) { return buffers[i].last - buffers[i].first + 1; };
  using Order = std::function<bool(size_t, size_t)>;
  const Order orders[] = {
      [&](size_t a, size_t b) { return buffers[a].bytes > buffers[b].bytes; },
      [&](size_t a, size_t b) {
        return double(buffers[a].bytes) * life(a) >
               double(buffers[b].bytes) * life(b);
      },
      [&](size_t a, size_t b) { return life(a) > life(b); },
      [&](size_t a, size_t b) { return buffers[a].first < buffers[b].first; },
  };
  for (const Order &before : orders) {
    std::vector<size_t> order(buffers.size());
    std::iota(order.begin(), order.end(), 0);
    // Ties by index: the result must not depend on the sort.
    std::stable_sort(order.begin(), order.end(), before);
    attempt(order);
  }

  // Moving one buffer to another place in the order, a fixed number of times
  // and from a fixed seed, so that the same input gives the same plan.
  std::mt19937 random(1);
  int64_t tries = kSearchSteps / int64_t(buffers.size() * buffers.size());
  for (; tries > 0 && plan.bytes > plan.lowerBound; --tries) {
    std::vector<size_t> order = bestOrder;
    size_t from = random() % order.size(), to = random() % order.size();
    size_t moved = order[from];
    order.erase(order.begin() + from);
    order.insert(order.begin() + to, moved);
    attempt(order);
  }
  buffers = best;
  return plan;
}

} // namespace pascaline
