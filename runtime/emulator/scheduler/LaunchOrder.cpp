#include "runtime/emulator/scheduler/LaunchOrder.h"

#include <algorithm>

namespace pascaline::emulator {

void LaunchOrder::startLaunch() {
  std::lock_guard<std::mutex> lock(mutex);
  logs.clear();
  published = false;
}

void LaunchOrder::publish(uint64_t address, uint32_t block,
                          const BlockKnowledge &from) {
  if (from.fenced < 0)
    return;
  std::lock_guard<std::mutex> lock(mutex);
  Log &log = logs[address];
  auto &entries = log.byBlock[block];
  bool news = entries.empty() || entries.back().fenced < from.fenced;
  for (auto &[other, length] : from.learnt) {
    uint32_t &known = log.known[other];
    if (other == address || known >= length)
      continue;
    known = length;
    log.inherited.push_back({log.length, other, length});
    news = true;
  }
  if (!news)
    return;
  entries.push_back({log.length++, from.fenced});
  published.store(true, std::memory_order_release);
}

void LaunchOrder::learn(uint64_t address, BlockKnowledge &into) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = logs.find(address);
  if (found == logs.end() || !found->second.length)
    return;
  const Log &log = found->second;
  uint32_t &known = into.learnt[address];
  if (known >= log.length)
    return;
  for (const Log::Inherited &each : log.inherited)
    if (each.index >= known) {
      uint32_t &other = into.learnt[each.address];
      other = std::max(other, each.length);
    }
  known = log.length;
}

bool LaunchOrder::isKnown(const BlockKnowledge &who, uint32_t block,
                          uint32_t segment) {
  std::lock_guard<std::mutex> lock(mutex);
  for (auto &[address, length] : who.learnt) {
    auto log = logs.find(address);
    if (log == logs.end())
      continue;
    auto entries = log->second.byBlock.find(block);
    if (entries == log->second.byBlock.end())
      continue;
    for (const Log::Entry &entry : entries->second)
      if (entry.index < length && entry.fenced >= int64_t(segment))
        return true;
  }
  return false;
}

} // namespace pascaline::emulator
