// ContractionTest - the contraction core against sums in double, on the
// emulator: every tile, every way of reading an operand, every kind of edge.

#include "test/compiler/ContractionCases.h"
#include "test/compiler/Device.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace pascaline;
using namespace pascaline::test;

namespace {

std::vector<float> randomValues(size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(count);
  for (float &value : values)
    value = uniform(engine);
  return values;
}

int64_t elements(const Operand &operand, llvm::ArrayRef<int64_t> batch) {
  int64_t last = operand.offset;
  for (auto [extent, stride] : llvm::zip(batch, operand.batchStrides))
    last += (extent - 1) * stride;
  for (llvm::ArrayRef<Axis> axes :
       {llvm::ArrayRef(operand.x), llvm::ArrayRef(operand.k)})
    for (Axis axis : axes)
      last += (axis.extent - 1) * axis.stride;
  return last + 1;
}

/// Element (batch, k, x) by the definition of Operand; zero where a bound
/// says so.
float at(const Operand &operand, const std::vector<float> &values,
         llvm::ArrayRef<int64_t> batch, int64_t batchIndex, int64_t k,
         int64_t x) {
  int64_t offset = operand.offset;
  for (size_t i = batch.size(); i-- > 0; batchIndex /= batch[i])
    offset += batchIndex % batch[i] * operand.batchStrides[i];
  auto split = [&](llvm::ArrayRef<Axis> axes, int64_t index) {
    std::vector<int64_t> result(axes.size());
    for (size_t i = axes.size(); i-- > 0; index /= axes[i].extent) {
      result[i] = index % axes[i].extent;
      offset += result[i] * axes[i].stride;
    }
    return result;
  };
  std::vector<int64_t> xs = split(operand.x, x), ks = split(operand.k, k);
  for (const Bound &bound : operand.bounds) {
    int64_t place = xs[bound.xAxis] * bound.xStep +
                    ks[bound.kAxis] * bound.kStep + bound.offset;
    if (place < 0 || place >= bound.limit)
      return 0;
  }
  return values.at(offset);
}

/// Runs the contraction and compares each output. What a packed operand has
/// beyond m and k is zero; all that no element may come from is NaN.
void check(const Contraction &wanted, bool packed, unsigned seed = 1,
           int launches = 1) {
  auto context = makeContext();
  Contraction c = wanted;
  CompiledContraction compiled = compileContraction(*context, c, true);
  ASSERT_TRUE(compiled.errors.empty()) << compiled.errors.front();
  ASSERT_FALSE(compiled.ptx.empty());
  ASSERT_EQ(compiled.ptx.find(".local"), std::string::npos);

  std::vector<float> a, b;
  int64_t padding = 0;
  if (packed) {
    int64_t mPadded = c.tilesM() * c.tile.bm, kPadded = c.tilesK() * c.tile.bk;
    padding = kPadded - c.k;
    a = randomValues(elements(c.a, c.batch), seed);
    for (size_t i = 0; i < a.size(); ++i)
      if (i / mPadded % kPadded < size_t(padding) || i % mPadded >= size_t(c.m))
        a[i] = 0;
  } else {
    a = randomValues(elements(c.a, c.batch), seed);
  }
  int64_t bElements = elements(c.b, c.batch);
  b = randomValues(bElements + 64, seed + 1);
  std::fill(b.begin() + bElements, b.end(), NAN);
  std::vector<float> bias = randomValues(c.m, seed + 2);

  Device &device = Device::get();
  int64_t count = c.batchCount() * c.m * c.n;
  std::vector<CUdeviceptr> pointers = {device.upload(a), device.upload(b),
                                       device.upload(bias),
                                       device.allocate((count + 64) * 4, 0xff)};
  if (c.slices > 1) {
    pointers.push_back(device.allocate(c.workspaceBytes(), 0xff));
    pointers.push_back(device.allocate(c.counterWords() * 4, 0));
  }
  ASSERT_EQ(device.run(compiled.ptx, compiled.entry, c.grid(), c.tile.threads(),
                       pointers, launches),
            "");
  std::vector<float> y = device.download(pointers[3], count + 64);
  for (CUdeviceptr pointer : pointers)
    device.free(pointer);

  int wrong = 0;
  for (int64_t i = 0; i < count && wrong < 5; ++i) {
    int64_t n = i % c.n, m = i / c.n % c.m, batch = i / c.n / c.m;
    double sum = bias[m], size = std::abs(bias[m]);
    for (int64_t k = 0; k < c.k; ++k) {
      double product = double(at(c.a, a, c.batch, batch, k + padding, m)) *
                       at(c.b, b, c.batch, batch, k, n);
      sum += product;
      size += std::abs(product);
    }
    double expected = std::max(sum, 0.0);
    if (!(std::abs(y[i] - expected) <= 1e-6 * size + 1e-7)) {
      ADD_FAILURE() << "y[" << batch << "][" << m << "][" << n << "] is "
                    << y[i] << ", not " << expected;
      ++wrong;
    }
  }
  for (int64_t i = count; i < count + 64; ++i)
    ASSERT_TRUE(std::isnan(y[i])) << "element " << i << " past the end written";
}

Contraction dense(mlir::MLIRContext &context, int64_t m, int64_t n, int64_t k,
                  const Tile &tile, bool aInner, bool bInner, int64_t batch = 1,
                  int64_t slices = 1) {
  Contraction c;
  c.batch = {batch};
  c.m = m;
  c.n = n;
  c.k = k;
  c.tile = tile;
  c.slices = slices;
  c.a = denseOperand(context, m, k, aInner, m * k);
  c.b = denseOperand(context, n, k, bInner, 0);
  return c;
}

class EveryTile : public testing::TestWithParam<int> {
protected:
  const Tile &tile() const { return allTiles()[GetParam()]; }
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
};

TEST_P(EveryTile, WholeTiles) {
  check(dense(*context, tile().bm, 2 * tile().bn, 32, tile(), false, false),
        false);
  check(dense(*context, tile().bm, tile().bn, 8, tile(), true, true), false);
}

TEST_P(EveryTile, RaggedEverywhere) {
  check(dense(*context, tile().bm + 3, tile().bn + 4, 20, tile(), true, false),
        false);
  check(dense(*context, tile().bm - 1, tile().bn + 1, 17, tile(), false, true),
        false);
}

TEST_P(EveryTile, Batches) {
  check(dense(*context, 33, 36, 24, tile(), true, true, 3), false);
}

TEST_P(EveryTile, SlicesAreSummed) {
  // Twice: the first launch must leave the counters as it found them.
  check(dense(*context, tile().bm + 1, 49, 70, tile(), true, false, 2, 4),
        false, 1, 2);
}

TEST_P(EveryTile, Convolution3x3) {
  check(convContraction(*context, {16, 9, 7, 40, 3, 1, 1, 1}, tile(), 1), true);
}

TEST_P(EveryTile, ConvolutionOfFewChannels) {
  check(convContraction(*context, {3, 15, 14, 10, 7, 2, 3, 1}, tile(), 1),
        true);
}

TEST_P(EveryTile, ConvolutionWithSlices) {
  check(convContraction(*context, {24, 7, 7, 72, 3, 1, 1, 1}, tile(), 5), true,
        3, 2);
}

INSTANTIATE_TEST_SUITE_P(Contraction, EveryTile,
                         testing::Range<int>(0, allTiles().size()),
                         [](const testing::TestParamInfo<int> &info) {
                           const Tile &tile = allTiles()[info.param];
                           return "m" + std::to_string(tile.bm) + "n" +
                                  std::to_string(tile.bn);
                         });

class Extents : public testing::TestWithParam<int64_t> {};

TEST_P(Extents, AnyExtentOnAnySide) {
  auto context = makeContext();
  const Tile &tile = allTiles()[3];
  int64_t e = GetParam();
  check(dense(*context, e, 20, 9, tile, true, false), false);
  check(dense(*context, 9, e, 12, tile, true, false), false);
  check(dense(*context, 5, 8, e, tile, true, false), false);
  check(dense(*context, 5, 8, e, tile, false, true), false);
}

INSTANTIATE_TEST_SUITE_P(Contraction, Extents,
                         testing::Values(1, 3, 7, 49, 64, 65, 147));

TEST(Convolutions, EveryGeometry) {
  auto context = makeContext();
  const Tile &tile = allTiles().back();
  auto conv = [&](ConvCase c, int64_t slices = 1) {
    check(convContraction(*context, c, tile, slices), true);
  };
  conv({8, 10, 12, 8, 1, 1, 0, 1});            // a dense matrix
  conv({8, 10, 12, 8, 1, 2, 0, 1});            // strided, no window
  conv({8, 10, 12, 8, 3, 1, 2, 2});            // dilated
  conv({8, 6, 6, 8, 5, 3, 2, 1});              // stride 3
  conv({5, 6, 6, 7, 3, 1, 1, 1});              // channels of no tile
  conv({8, 6, 6, 12, 3, 1, 1, 1, 2, 2});       // images and groups
  conv({8, 6, 6, 12, 3, 1, 1, 1, 2, 1, true}); // channels last
  conv({12, 5, 5, 8, 3, 2, 1, 1, 1, 3, true}); // channels last, groups
  conv({2, 40, 40, 3, 33, 1, 16, 1});          // more taps than a mask has bits
  conv({8, 40, 40, 3, 33, 1, 16, 1}, 7);
}

TEST(Checks, SayWhatIsWrong) {
  auto context = makeContext();
  Contraction c =
      dense(*context, 64, 64, 64, allTiles()[3], false, false, 1, 9);
  EXPECT_EQ(checkContraction(c),
            "9 slices of a depth of 8 stages leave some empty");
}

} // namespace
