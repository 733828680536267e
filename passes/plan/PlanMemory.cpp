// PlanMemory - give every buffer its place.
//
// Weights lie one after the other, then what init launches write, for all
// programs of the module. A session's
// arena is shared: an arena buffer lives from the launch that writes it to
// the last one that reads it, and buffers that never live together may have
// the same bytes (ArenaPlanner.h). A pointwise result takes the place of an
// operand that dies with it (MemoryModel.h). Counters are never shared: a
// kernel finds its own zero because it left them zero.
//
// Test: test/passes/plan/plan-memory.mlir

#include "passes/Passes.h"

#include "passes/plan/MemoryModel.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace pascaline {
#define GEN_PASS_DEF_PLANMEMORY
#include "passes/Passes.h.inc"

namespace {

// Hands out ranges one after the other.
class Bump {
public:
  int64_t take(int64_t bytes) {
    int64_t offset = end;
    end += llvm::alignTo(bytes, kArenaAlignment);
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
    Bump counters;
    for (auto buffer : program.getBody().front().getOps<plan::BufferOp>()) {
      switch (buffer.getKind()) {
      case plan::BufferKind::input:
      case plan::BufferKind::output:
      case plan::BufferKind::arena: // below
        buffer.setOffset(0);
        break;
      case plan::BufferKind::weights:
        buffer.setOffset(placeWeights(buffer));
        break;
      case plan::BufferKind::init:
        buffer.setOffset(init.take(buffer.getBytes()));
        break;
      case plan::BufferKind::counters:
        buffer.setOffset(counters.take(buffer.getBytes()));
        break;
      }
    }
    MemoryModel model(program);
    ArenaLayout arena = layOutArena(model, ownOrder(model));
    for (auto [unit, offset] : llvm::zip(model.units, arena.offsets))
      if (unit.bytes)
        unit.buffer.setOffset(offset);
    program.setArenaBytes(arena.bytes);
    program.setLowerBound(arena.lowerBound);
    program.setCounterBytes(counters.size());
    arenaBytes += arena.bytes;
    lowerBound += arena.lowerBound;
    numReplaced += arena.numReplaced;
  }

  Bump weights, init;
  llvm::DenseMap<std::pair<Attribute, Attribute>, int64_t> places;
};

} // namespace
} // namespace pascaline
