// MemoryModel.cpp - see MemoryModel.h.
#include "passes/plan/MemoryModel.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;

namespace pascaline {
namespace {

/// A launch's use of a part of a unit.
struct Touch {
  unsigned launch;
  plan::BufferRange range;
  bool writes;
};

bool overlap(const plan::BufferRange &a, const plan::BufferRange &b) {
  return a.start < b.start + b.bytes && b.start < a.start + a.bytes;
}

} // namespace

MemoryModel::MemoryModel(plan::ProgramOp program) {
  Block &body = program.getBody().front();
  llvm::DenseMap<Operation *, unsigned> numbers;
  std::vector<bool> hasViews;
  for (auto buffer : body.getOps<plan::BufferOp>()) {
    numbers[buffer] = units.size();
    Unit unit;
    if (buffer.getKind() == plan::BufferKind::arena)
      unit.bytes = llvm::alignTo(buffer.getBytes(), kArenaAlignment);
    unit.buffer = buffer;
    units.push_back(unit);
    hasViews.push_back(llvm::any_of(buffer.getBuffer().getUsers(),
                                    llvm::IsaPred<plan::ViewOp>));
  }
  std::vector<std::vector<Touch>> touches(units.size());
  for (Operation &op : body) {
    if (!isa<plan::LaunchOp, plan::ReturnOp>(op))
      continue;
    unsigned number = launches.size();
    Launch &launch = launches.emplace_back();
    launch.op = &op;
    auto launchOp = dyn_cast<plan::LaunchOp>(op);
    for (auto [i, buffer] : llvm::enumerate(op.getOperands())) {
      plan::BufferRange range = plan::rangeOf(buffer);
      unsigned unit = numbers.lookup(range.buffer);
      if (!llvm::is_contained(launch.units, unit)) {
        launch.units.push_back(unit);
        ++units[unit].numTouches;
      }
      bool writes = launchOp && launchOp.getAccess()[i] !=
                                    static_cast<int32_t>(plan::Access::read);
      touches[unit].push_back({number, range, writes});
    }
    if (!launchOp) { // the return, after everything
      launch.waitsFor.resize(number);
      std::iota(launch.waitsFor.begin(), launch.waitsFor.end(), 0);
      continue;
    }
    if (std::optional<ArrayRef<int32_t>> pairs = launchOp.getReplaceable())
      for (size_t i = 0; i + 1 < pairs->size(); i += 2) {
        unsigned from = numbers.lookup(
            plan::rangeOf(launchOp.getBuffers()[(*pairs)[i]]).buffer);
        unsigned to = numbers.lookup(
            plan::rangeOf(launchOp.getBuffers()[(*pairs)[i + 1]]).buffer);
        // Bound twice, an operand is also read at other places than its own.
        bool isOnce =
            llvm::count_if(op.getOperands(), [&](Value value) {
              return numbers.lookup(plan::rangeOf(value).buffer) == from;
            }) == 1;
        if (isOnce && units[from].bytes &&
            units[from].bytes == units[to].bytes && !hasViews[from] &&
            !hasViews[to])
          launch.replaceable.push_back({from, to});
      }
  }
  for (const std::vector<Touch> &unit : touches)
    for (size_t later = 0; later < unit.size(); ++later)
      for (size_t earlier = 0; earlier < later; ++earlier) {
        const Touch &a = unit[earlier], &b = unit[later];
        if (a.launch != b.launch && (a.writes || b.writes) &&
            overlap(a.range, b.range) &&
            !llvm::is_contained(launches[b.launch].waitsFor, a.launch))
          launches[b.launch].waitsFor.push_back(a.launch);
      }
}

LiveMemory::LiveMemory(const MemoryModel &model) : model(&model) {
  for (const MemoryModel::Unit &unit : model.units)
    touchesLeft.push_back(unit.numTouches);
}

std::vector<bool> LiveMemory::replaced(unsigned launch) const {
  const auto &pairs = model->launches[launch].replaceable;
  std::vector<bool> taken(pairs.size(), false);
  for (size_t i = 0; i < pairs.size(); ++i) {
    auto [from, to] = pairs[i];
    // The operand was written before and nothing after this reads it.
    bool free = touchesLeft[from] == 1 && !isUntouched(from) && isUntouched(to);
    for (size_t j = 0; j < i; ++j)
      free &= !taken[j] || (pairs[j].first != from && pairs[j].second != to);
    taken[i] = free;
  }
  return taken;
}

LiveMemory::Step LiveMemory::peek(unsigned launch) const {
  const MemoryModel::Launch &l = model->launches[launch];
  int64_t allocated = 0, freed = 0, shared = 0;
  for (unsigned unit : l.units) {
    if (isUntouched(unit))
      allocated += model->units[unit].bytes;
    if (touchesLeft[unit] == 1)
      freed += model->units[unit].bytes;
  }
  std::vector<bool> taken = replaced(launch);
  for (size_t i = 0; i < taken.size(); ++i)
    if (taken[i])
      shared += model->units[l.replaceable[i].second].bytes;
  return {live + allocated - shared, live + allocated - freed};
}

void LiveMemory::run(unsigned launch) {
  Step step = peek(launch);
  for (unsigned unit : model->launches[launch].units)
    --touchesLeft[unit];
  live = step.after;
  most = std::max(most, step.during);
}

std::vector<unsigned> ownOrder(const MemoryModel &model) {
  std::vector<unsigned> order(model.launches.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

int64_t largestLiveSum(const MemoryModel &model,
                       const std::vector<unsigned> &order) {
  LiveMemory memory(model);
  for (unsigned launch : order)
    memory.run(launch);
  return memory.largest();
}

static ArenaLayout layOut(const MemoryModel &model,
                          const std::vector<unsigned> &order, bool replace) {
  constexpr size_t kNone = size_t(-1);
  std::vector<ArenaBuffer> places;
  std::vector<size_t> placeOf(model.units.size(), kNone);
  ArenaLayout layout;
  LiveMemory memory(model);
  for (auto [step, launch] : llvm::enumerate(order)) {
    const MemoryModel::Launch &l = model.launches[launch];
    std::vector<bool> taken = memory.replaced(launch);
    for (size_t i = 0; i < taken.size(); ++i)
      if (replace && taken[i]) {
        placeOf[l.replaceable[i].second] = placeOf[l.replaceable[i].first];
        ++layout.numReplaced;
      }
    for (unsigned unit : l.units) {
      if (!model.units[unit].bytes)
        continue;
      if (placeOf[unit] == kNone) {
        placeOf[unit] = places.size();
        places.push_back({model.units[unit].bytes, int64_t(step), 0});
      }
      places[placeOf[unit]].last = int64_t(step);
    }
    memory.run(launch);
  }
  ArenaPlan plan = planArena(places, kArenaAlignment);
  layout.bytes = plan.bytes;
  layout.lowerBound = plan.lowerBound;
  for (size_t place : placeOf)
    layout.offsets.push_back(place == kNone ? 0 : places[place].offset);
  return layout;
}

ArenaLayout layOutArena(const MemoryModel &model,
                        const std::vector<unsigned> &order) {
  ArenaLayout inPlace = layOut(model, order, /*replace=*/true);
  if (!inPlace.numReplaced)
    return inPlace;
  // Sharing lowers what lives, but longer lives may leave gaps.
  ArenaLayout apart = layOut(model, order, /*replace=*/false);
  return apart.bytes < inPlace.bytes ? apart : inPlace;
}

} // namespace pascaline
