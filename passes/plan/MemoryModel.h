// MemoryModel.h - a program as memory planning sees it: launches that wait for
// each other, and the memory that each touches.
//
// A unit is a buffer with all the views into it: it takes memory from the
// first launch that touches any part of it to the last one. What lies in the
// arena has a size here; everything else (weights, inputs, outputs, counters)
// has none and only makes launches wait. The program's return is the last
// launch.
//
// A result may take the place of an operand that dies with the launch, where
// the kernel allows it (plan.launch's `replaceable`): both count once then.
//
// Test: test/compiler/LaunchOrderTest.cpp
#pragma once

#include "compiler/ir/plan/PlanDialect.h"
#include "passes/plan/ArenaPlanner.h"

#include <cstdint>
#include <vector>

namespace pascaline {

/// cuMemAlloc's alignment, so that every buffer can be read 128 bits at a time.
inline constexpr int64_t kArenaAlignment = 256;

struct MemoryModel {
  struct Unit {
    int64_t bytes = 0;       ///< of arena, rounded up to the alignment
    unsigned numTouches = 0; ///< launches
    plan::BufferOp buffer;   ///< null in tests
  };
  struct Launch {
    std::vector<unsigned> units;    ///< touched, each once
    std::vector<unsigned> waitsFor; ///< launches, each once
    /// (operand, result): units that may lie in one place.
    std::vector<std::pair<unsigned, unsigned>> replaceable;
    mlir::Operation *op = nullptr; ///< null in tests
  };
  std::vector<Unit> units;
  std::vector<Launch> launches; ///< in an order that may run

  MemoryModel() = default;
  explicit MemoryModel(plan::ProgramOp program);
};

/// What lives while launches run one after the other.
class LiveMemory {
public:
  explicit LiveMemory(const MemoryModel &model);

  struct Step {
    int64_t during; ///< bytes that live while the launch runs
    int64_t after;  ///< and when it has
  };
  Step peek(unsigned launch) const;
  void run(unsigned launch);

  int64_t bytes() const { return live; }
  int64_t largest() const { return most; }
  /// The unit that a result of the launch takes the place of, when it runs
  /// now, for each entry of `replaceable`: taken or not.
  std::vector<bool> replaced(unsigned launch) const;

private:
  bool isUntouched(unsigned unit) const {
    return touchesLeft[unit] == model->units[unit].numTouches;
  }

  const MemoryModel *model;
  std::vector<unsigned> touchesLeft; ///< of each unit
  int64_t live = 0, most = 0;
};

/// The order in which the model has its launches.
std::vector<unsigned> ownOrder(const MemoryModel &model);

/// The largest sum of live bytes over the launches of an order.
int64_t largestLiveSum(const MemoryModel &model,
                       const std::vector<unsigned> &order);

/// The arena for an order: an offset for each unit of arena that is touched
/// (others: 0), with results in their operands' places where that is allowed
/// and the arena is no larger for it.
struct ArenaLayout {
  int64_t bytes = 0, lowerBound = 0;
  std::vector<int64_t> offsets;
  unsigned numReplaced = 0; ///< results that lie in an operand's place
};
ArenaLayout layOutArena(const MemoryModel &model,
                        const std::vector<unsigned> &order);

} // namespace pascaline
