// LaunchOrder.cpp - see LaunchOrder.h.
#include "passes/plan/LaunchOrder.h"

#include "llvm/ADT/DenseMap.h"

#include <algorithm>
#include <memory>
#include <random>
#include <tuple>
#include <utility>

namespace pascaline {
namespace {

// Partial orders kept, and what bounds them: a step looks at every launch that
// could run, in the worst case all, and copies as much, so many launches allow
// few states. This many looks take a second or two.
constexpr size_t kWidest = 32;
constexpr size_t kLooks = 8'000'000;

struct State {
  LiveMemory memory;
  std::vector<unsigned> waits; ///< of each launch: how many it waits for
  std::vector<unsigned> ready;
  uint64_t hash = 0; ///< of the set of launches that have run
  /// The last launch and the state before it.
  struct Link {
    unsigned launch;
    std::shared_ptr<Link> before;
    ~Link() { // a long chain must not be taken apart by recursion
      while (before && before.use_count() == 1)
        before = std::exchange(before->before, nullptr);
    }
  };
  std::shared_ptr<Link> order;
};

/// A state and the launch to extend it by.
struct Move {
  size_t state;
  unsigned launch;
  int64_t most, after;
  uint64_t hash;
};

class Search {
public:
  explicit Search(const MemoryModel &model)
      : model(model), followers(model.launches.size()) {
    std::mt19937_64 random(1); // the same every time
    for (size_t i = 0; i < model.launches.size(); ++i) {
      names.push_back(random());
      for (unsigned before : model.launches[i].waitsFor)
        followers[before].push_back(i);
    }
    size_t count = model.launches.size();
    width = std::clamp<size_t>(kLooks / (count * count + 1), 1, kWidest);
  }

  std::vector<unsigned> run() {
    std::vector<State> states;
    states.push_back(start());
    for (size_t step = 0; step < model.launches.size(); ++step)
      states = extend(states);
    std::vector<unsigned> order;
    for (auto link = states.front().order; link; link = link->before)
      order.push_back(link->launch);
    std::reverse(order.begin(), order.end());
    return order;
  }

private:
  State start() const {
    State state{LiveMemory(model), {}, {}, 0, nullptr};
    for (size_t i = 0; i < model.launches.size(); ++i) {
      state.waits.push_back(model.launches[i].waitsFor.size());
      if (!state.waits.back())
        state.ready.push_back(i);
    }
    return state;
  }

  /// Launches worth running next in a state: one that costs nothing, or all.
  void addMoves(const State &state, size_t number,
                std::vector<Move> &moves) const {
    size_t first = moves.size();
    for (unsigned launch : state.ready) {
      LiveMemory::Step step = state.memory.peek(launch);
      Move move{number, launch, std::max(step.during, state.memory.largest()),
                step.after, state.hash ^ names[launch]};
      if (step.during <= state.memory.largest() &&
          step.after <= state.memory.bytes()) {
        moves.resize(first);
        moves.push_back(move);
        return;
      }
      moves.push_back(move);
    }
  }

  std::vector<State> extend(std::vector<State> &states) const {
    std::vector<Move> moves;
    for (size_t i = 0; i < states.size(); ++i)
      addMoves(states[i], i, moves);
    // The model's own order decides between equals.
    std::stable_sort(
        moves.begin(), moves.end(), [](const Move &a, const Move &b) {
          return std::tie(a.most, a.after) < std::tie(b.most, b.after);
        });
    std::vector<State> next;
    llvm::DenseMap<uint64_t, bool> seen;
    for (const Move &move : moves) {
      if (next.size() == width)
        break;
      if (seen.try_emplace(move.hash >> 1, true).second)
        next.push_back(apply(states[move.state], move));
    }
    return next;
  }

  State apply(const State &from, const Move &move) const {
    State to = from;
    to.memory.run(move.launch);
    to.hash = move.hash;
    to.order =
        std::make_shared<State::Link>(State::Link{move.launch, from.order});
    to.ready.erase(std::find(to.ready.begin(), to.ready.end(), move.launch));
    for (unsigned follower : followers[move.launch])
      if (--to.waits[follower] == 0)
        to.ready.insert(
            std::upper_bound(to.ready.begin(), to.ready.end(), follower),
            follower);
    return to;
  }

  const MemoryModel &model;
  std::vector<std::vector<unsigned>> followers;
  std::vector<uint64_t> names;
  size_t width;
};

} // namespace

std::vector<unsigned> findLaunchOrder(const MemoryModel &model) {
  std::vector<unsigned> own = ownOrder(model);
  if (model.launches.size() * model.launches.size() > kLooks)
    return own;
  std::vector<unsigned> found = Search(model).run();
  return largestLiveSum(model, found) < largestLiveSum(model, own) ? found
                                                                   : own;
}

} // namespace pascaline
