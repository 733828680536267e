// LaunchOrder.h - which accesses of other blocks a block is ordered after.
//
// Blocks of a launch run in no order but the one they make themselves: one
// stores, executes a fence and then an atomic (or volatile) access; another
// accesses the same address atomically and, when it comes later, sees what was
// stored before the fence. That is the last-block-arrives reduction, and every
// flag that blocks wait for.
//
// A block's run is cut into segments by its fences. An atomic access publishes
// the segments that a fence has ended, in the log of its address, and what the
// block itself had learnt. Who accesses the address later learns the log so
// far. A block is one here: what one of its threads learns or publishes counts
// for all, which can hide a missing barrier inside it, but reports nothing that
// is right.
//
// Threads: one LaunchOrder for all workers; a BlockKnowledge belongs to one.
// Test: test/emulator/SanitizerGlobalTest.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace pascaline::emulator {

struct BlockKnowledge {
  uint32_t segment = 0;
  int64_t fenced = -1;                 // the last segment that a fence ended
  uint64_t pending = 0;                // an address whose log is yet to learn
  std::map<uint64_t, uint32_t> learnt; // address -> length of its log

  void start() {
    segment = 0;
    fenced = -1;
    pending = 0;
    learnt.clear();
  }
  void fence() { fenced = segment++; }
};

class LaunchOrder {
public:
  void startLaunch();
  void publish(uint64_t address, uint32_t block, const BlockKnowledge &from);
  void learn(uint64_t address, BlockKnowledge &into);
  bool anythingPublished() const {
    return published.load(std::memory_order_acquire);
  }
  // Does `who` know of all that `block` did in `segment`?
  bool isKnown(const BlockKnowledge &who, uint32_t block, uint32_t segment);

private:
  struct Log {
    uint32_t length = 0;
    struct Entry {
      uint32_t index;
      int64_t fenced;
    };
    std::unordered_map<uint32_t, std::vector<Entry>> byBlock;
    struct Inherited {
      uint32_t index;
      uint64_t address;
      uint32_t length;
    };
    std::vector<Inherited> inherited;
    std::map<uint64_t, uint32_t> known; // the longest of `inherited`
  };
  std::mutex mutex;
  std::atomic<bool> published{false};
  std::unordered_map<uint64_t, Log> logs;
};

} // namespace pascaline::emulator
