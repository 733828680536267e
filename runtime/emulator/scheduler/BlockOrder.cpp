#include "runtime/emulator/scheduler/BlockOrder.h"

#include <algorithm>

namespace pascaline::emulator {

bool BlockOrder::prepare(unsigned count) {
  threads = (count + 31) / 32 * 32;
  // Rarely, before the clock runs over, everything starts anew.
  bool restarts = tick > 0x60000000u;
  if (restarts) {
    std::fill(known.begin(), known.end(), 0);
    tick = 1;
  }
  if (known.size() < size_t(threads) * threads)
    known.assign(size_t(threads) * threads, 0);
  fenced.assign(threads, 0);
  return restarts;
}

void BlockOrder::startBlock() {
  blockStart = epoch = ++tick;
  wide = false;
  met.clear();
  for (Barrier &barrier : barriers) {
    barrier.clock.clear();
    barrier.waiting.clear();
  }
}

void BlockOrder::warpSync(uint32_t warp, uint32_t lanes) {
  uint32_t first = wide ? 0 : warp * 32;
  uint32_t count = wide ? threads : 32;
  static thread_local std::vector<uint32_t> joined;
  joined.assign(count, 0);
  for (uint32_t left = lanes; left; left &= left - 1) {
    const uint32_t *from = row(warp * 32 + __builtin_ctz(left)) + first;
    for (uint32_t i = 0; i < count; ++i)
      joined[i] = std::max(joined[i], from[i]);
  }
  for (uint32_t left = lanes; left; left &= left - 1)
    joined[warp * 32 + __builtin_ctz(left) - first] = tick;
  for (uint32_t left = lanes; left; left &= left - 1)
    std::copy(joined.begin(), joined.end(),
              row(warp * 32 + __builtin_ctz(left)) + first);
  ++tick;
}

void BlockOrder::join(std::vector<uint32_t> &into, uint32_t thread,
                      uint32_t upTo) {
  wide = true;
  into.resize(threads);
  const uint32_t *from = row(thread);
  for (uint32_t i = 0; i < threads; ++i)
    into[i] = std::max(into[i], from[i]);
  into[thread] = std::max(into[thread], upTo);
}

void BlockOrder::learn(uint32_t thread, const std::vector<uint32_t> &from) {
  uint32_t *into = row(thread);
  for (uint32_t i = 0; i < from.size(); ++i)
    into[i] = std::max(into[i], from[i]);
}

void BlockOrder::arrive(uint32_t thread, uint32_t id, bool waits) {
  Barrier &barrier = barriers[id];
  join(barrier.clock, thread, tick++);
  if (waits)
    barrier.waiting.push_back(thread);
}

void BlockOrder::complete(uint32_t id) {
  Barrier &barrier = barriers[id];
  for (uint32_t thread : barrier.waiting)
    learn(thread, barrier.clock);
  barrier.waiting.clear();
  barrier.clock.clear();
  ++tick;
}

void BlockOrder::meet(uint32_t thread, uint64_t address) {
  auto found = met.find(address);
  if (found != met.end())
    learn(thread, found->second);
  if (fenced[thread] >= blockStart)
    join(met[address], thread, fenced[thread]);
}

} // namespace pascaline::emulator
