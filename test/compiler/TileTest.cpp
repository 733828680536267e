// Tiles, emission orders, register banks and the cost model: pure functions.

#include "compiler/kernels/contraction/Banks.h"
#include "compiler/kernels/contraction/Cost.h"
#include "compiler/target/Chip.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>
#include <set>

using namespace pascaline;

namespace {

TEST(Tile, AllCanRun) {
  for (const Tile &tile : allTiles())
    EXPECT_EQ(checkTile(tile), std::nullopt) << tile.text();
}

TEST(Tile, ImpossibleOnesSayWhy) {
  auto problem = [](auto change) {
    Tile tile = allTiles()[3];
    change(tile);
    return checkTile(tile).value_or("");
  };
  EXPECT_EQ(problem([](Tile &t) { t.tm = 6; }),
            "a thread's 6x8 outputs are no multiples of 4, the width of a "
            "shared load");
  EXPECT_EQ(problem([](Tile &t) { t.lanesM = 16; }),
            "16x4 lanes are not a warp of 32");
  EXPECT_EQ(problem([](Tile &t) { t.bm = 48; }),
            "a tile of 48x64 does not divide into warps of 32x32");
  EXPECT_EQ(problem([](Tile &t) { t.bm = 96; }),
            "stages of 96x8 and 64x8 elements are not powers of two");
  EXPECT_EQ(problem([](Tile &t) { t.bk = 2; }),
            "a depth of 2 is no multiple of 4");
  EXPECT_EQ(problem([](Tile &t) { t.bm = t.bn = 256; }),
            "2048 threads are more than a block's 1024");
  EXPECT_EQ(problem([](Tile &t) { t.bk = 64; }),
            "65536 bytes of shared memory are more than a block's 49152");
  EXPECT_EQ(problem([](Tile &t) {
              t.bk = 4;
              t.bn = 32;
            }),
            "64 threads do not share stages of 64 and 32 128-bit words evenly");
  EXPECT_EQ(problem([](Tile &t) { t.order.step = 2; }),
            "an emission step of 2 skips some of 4 multiply-adds");
}

TEST(Tile, AnOrderEmitsEachMultiplyAddOnce) {
  for (const Tile &tile : allTiles()) {
    std::set<std::pair<int64_t, int64_t>> seen;
    for (auto pair : tile.order.pairs(tile.tm, tile.tn))
      seen.insert(pair);
    EXPECT_EQ(int64_t(seen.size()), tile.tm * tile.tn) << tile.text();
  }
}

TEST(Banks, ASumSharesNoBankWithItsFactors) {
  for (int64_t i = 0; i < 8; ++i)
    for (int64_t j = 0; j < 8; ++j) {
      EXPECT_NE(bankOfSum(i, j), i % 4);
      EXPECT_NE(bankOfSum(i, j), j % 4);
    }
}

TEST(Banks, StoreOrderHoldsEachSumOnceInItsBank) {
  auto order = storeOrder(4, 8);
  std::set<int64_t> seen(order.begin(), order.end());
  EXPECT_EQ(seen.size(), 32u);
  for (size_t at = 0; at < order.size(); ++at)
    EXPECT_EQ(bankOfSum(order[at] / 8, order[at] % 8), int64_t(at % 4));
}

struct Choice : testing::Test {
  mlir::MLIRContext context;
  Contraction choose(int64_t m, int64_t n, int64_t k,
                     const char *chip = "gtx1080ti") {
    return chooseConfiguration(
        [&](const Tile &tile) {
          Contraction c;
          c.m = m;
          c.n = n;
          c.k = k;
          c.tile = tile;
          c.a.element = c.b.element = mlir::Float32Type::get(&context);
          c.a.x = {{m, 1}};
          c.a.k = {{k, m}};
          c.b.x = {{n, 1}};
          c.b.k = {{k, n}};
          return c;
        },
        *findChip(chip));
  }
};

TEST_F(Choice, LargeProductsTakeLargeTilesWhole) {
  Contraction c = choose(4096, 4096, 4096);
  EXPECT_EQ(c.tile.bm * c.tile.bn, 128 * 128);
  EXPECT_EQ(c.slices, 1);
}

TEST_F(Choice, FewOutputsAndMuchDepthAreSliced) {
  Contraction c = choose(512, 49, 2048);
  EXPECT_GT(c.slices, 1);
  EXPECT_GE(c.outputTiles() * c.slices, 28);
}

TEST_F(Choice, PartialSumsStayInL2) {
  for (int64_t n : {49, 196, 784, 3136}) {
    Contraction c = choose(256, n, 2304);
    EXPECT_LE(c.workspaceBytes(), 2 << 20);
  }
}

TEST_F(Choice, ShallowOnesAreNotSliced) {
  EXPECT_EQ(choose(64, 3136, 64).slices, 1);
}

TEST_F(Choice, EstimatesAreNearTheSimulatedLayers) {
  // Microseconds at 1417 MHz of kernels.md's layers without slices.
  Chip chip = *findChip("titanx");
  chip.clockMhz = 1417;
  struct {
    int64_t m, n, k;
    double us;
  } layers[] = {{64, 3136, 64, 6.9},
                {256, 3136, 64, 20.7},
                {64, 3136, 256, 20.1},
                {512, 784, 128, 18.5}};
  for (auto layer : layers) {
    Contraction c = choose(layer.m, layer.n, layer.k);
    c.tile = allTiles()[3];
    c.slices = 1;
    EXPECT_NEAR(estimateCycles(c, chip) / chip.clockMhz, layer.us,
                0.25 * layer.us)
        << layer.m << "x" << layer.n << "x" << layer.k;
  }
}

} // namespace
