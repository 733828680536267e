// The arena planner: no two buffers that live together share a byte, and the
// arena is near its lower bound.
#include "passes/plan/ArenaPlanner.h"

#include <gtest/gtest.h>

#include <random>

using namespace pascaline;

namespace {

bool liveTogether(const ArenaBuffer &a, const ArenaBuffer &b) {
  return a.first <= b.last && b.first <= a.last;
}

void expectDisjoint(const std::vector<ArenaBuffer> &buffers,
                    const ArenaPlan &plan) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    const ArenaBuffer &a = buffers[i];
    EXPECT_EQ(a.offset % 256, 0);
    EXPECT_LE(a.offset + a.bytes, plan.bytes);
    for (size_t j = 0; j < i; ++j) {
      const ArenaBuffer &b = buffers[j];
      EXPECT_FALSE(liveTogether(a, b) && a.offset < b.offset + b.bytes &&
                   b.offset < a.offset + a.bytes)
          << i << " and " << j;
    }
  }
}

TEST(ArenaPlanner, OfNothingIsEmpty) {
  std::vector<ArenaBuffer> buffers;
  ArenaPlan plan = planArena(buffers, 256);
  EXPECT_EQ(plan.bytes, 0);
  EXPECT_EQ(plan.lowerBound, 0);
}

TEST(ArenaPlanner, AChainTakesTwoBuffers) {
  std::vector<ArenaBuffer> buffers;
  for (int64_t i = 0; i < 10; ++i)
    buffers.push_back({1024, i, i + 1});
  ArenaPlan plan = planArena(buffers, 256);
  EXPECT_EQ(plan.bytes, 2048);
  EXPECT_EQ(plan.lowerBound, 2048);
  expectDisjoint(buffers, plan);
}

TEST(ArenaPlanner, FillsTheGapBelowALongLife) {
  // The first ends before the third starts, so the third fits under the second.
  std::vector<ArenaBuffer> buffers = {{512, 0, 1}, {1024, 1, 5}, {512, 2, 3}};
  ArenaPlan plan = planArena(buffers, 256);
  EXPECT_EQ(plan.bytes, 1536);
  EXPECT_EQ(plan.lowerBound, 1536);
  expectDisjoint(buffers, plan);
}

TEST(ArenaPlanner, RoundsSizesUpToTheAlignment) {
  std::vector<ArenaBuffer> buffers = {{1, 0, 0}, {257, 0, 0}};
  ArenaPlan plan = planArena(buffers, 256);
  EXPECT_EQ(plan.bytes, 256 + 512);
  EXPECT_EQ(plan.lowerBound, 256 + 512);
}

// Largest first puts 5 at 0 and 4 above it, so that 3, which meets both, goes
// on top: 12 units. In order of first use the bound of 9 is reached.
TEST(ArenaPlanner, TriesMoreThanOneOrder) {
  const int64_t k = 256;
  std::vector<ArenaBuffer> buffers = {
      {4 * k, 0, 1}, {5 * k, 1, 2}, {3 * k, 2, 4}, {6 * k, 3, 4}};
  ArenaPlan plan = planArena(buffers, k);
  EXPECT_EQ(plan.lowerBound, 9 * k);
  EXPECT_EQ(plan.bytes, 9 * k);
  expectDisjoint(buffers, plan);
}

TEST(ArenaPlanner, IsRightOnRandomLives) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<ArenaBuffer> buffers(60);
    for (ArenaBuffer &buffer : buffers) {
      buffer.bytes = 1 + random() % 100000;
      buffer.first = random() % 50;
      buffer.last = buffer.first + random() % 6;
    }
    ArenaPlan plan = planArena(buffers, 256);
    expectDisjoint(buffers, plan);
    EXPECT_GE(plan.bytes, plan.lowerBound);
  }
}

} // namespace
