// PlanMemory - give every buffer its place.
//
// Weights lie one after the other, then what init launches write, for all
// programs of the module. A session's
// arena is shared: an arena buffer lives from the launch that writes it to
// the last one that reads it, and buffers that never live together may have
// the same bytes (ArenaPlanner.h). Counters are never shared: a kernel finds
// its own zero because it left them zero.
//
// Test: test/passes/plan/plan-memory.mlir

#include "passes/Passes.h"

#include "compiler/ir/plan/PlanDialect.h"
#include "passes/plan/ArenaPlanner.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace pascaline {
#define GEN_PASS_DEF_PLANMEMORY
#include "passes/Passes.h.inc"

namespace {

// cuMemAlloc's alignment, so that every buffer can be read 128 bits at a time.
constexpr int64_t kAlignment = 256;

// Hands out ranges one after the other.
class Bump {
public:
  int64_t take(int64_t bytes) {
    int64_t offset = end;
    end += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return offset;
  }
  int64_t size() const { return end; }

private:
  int64_t end = 0;
};

struct PlanMemory : impl::PlanMemoryBase<PlanMemory> {
  void runOnOperation() override {
    for (auto program : getOperation().getOps<plan::ProgramOp>())
      plan(program);
    for (auto program : getOperation().getOps<plan::ProgramOp>()) {
      program.setWeightBytes(weights.size());
      program.setInitBytes(init.size());
    }
  }

private:
  // Equal weights have one place, whichever programs read them.
  int64_t placeWeights(plan::BufferOp buffer) {
    auto [place, isNew] =
        places.try_emplace({buffer.getValueAttr(), buffer.getPackingAttr()}, 0);
    if (isNew || !buffer.getValueAttr())
      place->second = weights.take(buffer.getBytes());
    return place->second;
  }

  void plan(plan::ProgramOp program) {
    Block &body = program.getBody().front();
    llvm::DenseMap<Operation *, int64_t> steps;
    for (Operation &op : body)
      if (isa<plan::LaunchOp, plan::ReturnOp>(op))
        steps.try_emplace(&op, steps.size());

    Bump counters;
    std::vector<ArenaBuffer> lives;
    SmallVector<plan::BufferOp> arena;
    for (auto buffer : body.getOps<plan::BufferOp>()) {
      int64_t bytes = buffer.getBytes();
      switch (buffer.getKind()) {
      case plan::BufferKind::input:
      case plan::BufferKind::output:
        buffer.setOffset(0);
        break;
      case plan::BufferKind::weights:
        buffer.setOffset(placeWeights(buffer));
        break;
      case plan::BufferKind::init:
        buffer.setOffset(init.take(bytes));
        break;
      case plan::BufferKind::counters:
        buffer.setOffset(counters.take(bytes));
        break;
      case plan::BufferKind::arena: {
        ArenaBuffer life{bytes, static_cast<int64_t>(steps.size()), -1};
        for (Operation *user : buffer.getBuffer().getUsers()) {
          life.first = std::min(life.first, steps.lookup(user));
          life.last = std::max(life.last, steps.lookup(user));
        }
        if (life.last < 0) {
          buffer.setOffset(0); // nothing uses it
          break;
        }
        lives.push_back(life);
        arena.push_back(buffer);
        break;
      }
      }
    }

    ArenaPlan planned = planArena(lives, kAlignment);
    for (auto [buffer, life] : llvm::zip(arena, lives))
      buffer.setOffset(life.offset);
    program.setArenaBytes(planned.bytes);
    program.setLowerBound(planned.lowerBound);
    program.setCounterBytes(counters.size());
    arenaBytes += planned.bytes;
    lowerBound += planned.lowerBound;
  }

  Bump weights, init;
  llvm::DenseMap<std::pair<Attribute, Attribute>, int64_t> places;
};

} // namespace
} // namespace pascaline
