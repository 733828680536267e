// The search for an order of launches: it may run, needs no more than the own
// order, and is as good as any where all can be tried.
#include "passes/plan/LaunchOrder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace pascaline;

namespace {

/// A launch that reads `reads` and makes a unit of `bytes`, numbered as it is.
void addLaunch(MemoryModel &model, int64_t bytes,
               const std::vector<unsigned> &reads) {
  unsigned number = model.launches.size();
  model.units.push_back({bytes, 0, {}});
  MemoryModel::Launch launch;
  launch.units = reads;
  launch.units.push_back(number);
  launch.waitsFor = reads;
  for (unsigned unit : launch.units)
    ++model.units[unit].numTouches;
  model.launches.push_back(launch);
}

bool mayRun(const MemoryModel &model, const std::vector<unsigned> &order) {
  std::vector<bool> done(order.size(), false);
  for (unsigned launch : order) {
    for (unsigned before : model.launches[launch].waitsFor)
      if (!done[before])
        return false;
    done[launch] = true;
  }
  return std::all_of(done.begin(), done.end(), [](bool d) { return d; });
}

MemoryModel randomModel(std::mt19937 &random, unsigned launches) {
  MemoryModel model;
  for (unsigned i = 0; i < launches; ++i) {
    std::vector<unsigned> reads;
    for (unsigned before = 0; before < i; ++before)
      if (random() % 3 == 0 && reads.size() < 3)
        reads.push_back(before);
    addLaunch(model, 256 * (1 + random() % 16), reads);
  }
  return model;
}

int64_t bestOfAll(const MemoryModel &model) {
  std::vector<unsigned> order = ownOrder(model);
  int64_t best = largestLiveSum(model, order);
  while (std::next_permutation(order.begin(), order.end()))
    if (mayRun(model, order))
      best = std::min(best, largestLiveSum(model, order));
  return best;
}

TEST(LaunchOrder, IsAsGoodAsAnyOfSmallModels) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 30; ++trial) {
    MemoryModel model = randomModel(random, 7);
    std::vector<unsigned> order = findLaunchOrder(model);
    EXPECT_TRUE(mayRun(model, order));
    EXPECT_EQ(largestLiveSum(model, order), bestOfAll(model)) << trial;
  }
}

TEST(LaunchOrder, OfLargeModelsNeedsNoMoreThanTheirOwn) {
  std::mt19937 random(8);
  for (unsigned launches : {100u, 900u}) {
    MemoryModel model = randomModel(random, launches);
    std::vector<unsigned> order = findLaunchOrder(model);
    EXPECT_TRUE(mayRun(model, order));
    EXPECT_LE(largestLiveSum(model, order),
              largestLiveSum(model, ownOrder(model)));
    EXPECT_EQ(order, findLaunchOrder(model));
  }
}

TEST(LaunchOrder, ALongChainStaysAsItIs) {
  MemoryModel model;
  addLaunch(model, 256, {});
  for (unsigned i = 1; i < 3000; ++i)
    addLaunch(model, 256, {i - 1});
  EXPECT_EQ(findLaunchOrder(model), ownOrder(model));
}

// A result that takes its operand's place counts once, while nothing else
// reads the operand later.
TEST(MemoryModel, CountsAResultInPlaceOnce) {
  MemoryModel model;
  addLaunch(model, 1024, {});
  addLaunch(model, 1024, {0});
  addLaunch(model, 1024, {1});
  EXPECT_EQ(largestLiveSum(model, ownOrder(model)), 2048);
  model.launches[1].replaceable = {{0, 1}};
  model.launches[2].replaceable = {{1, 2}};
  EXPECT_EQ(largestLiveSum(model, ownOrder(model)), 1024);
  ArenaLayout layout = layOutArena(model, ownOrder(model));
  EXPECT_EQ(layout.bytes, 1024);
  EXPECT_EQ(layout.numReplaced, 2u);

  // The first value is read once more at the end.
  model.launches[2].units.push_back(0);
  ++model.units[0].numTouches;
  EXPECT_EQ(largestLiveSum(model, ownOrder(model)), 2048);
  layout = layOutArena(model, ownOrder(model));
  EXPECT_EQ(layout.numReplaced, 1u);
  EXPECT_NE(layout.offsets[0], layout.offsets[1]);
}

} // namespace
