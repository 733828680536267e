// Pools and depthwise convolutions against plain loops.

#include "test/compiler/KernelHarness.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

using namespace pascaline::test;

namespace {
struct Windows {
  std::vector<int64_t> in, window, strides, dilations, begin, end;
  std::vector<int64_t> out() const {
    std::vector<int64_t> shape;
    for (size_t i = 0; i < in.size(); ++i)
      shape.push_back(
          (in[i] + begin[i] + end[i] - dilations[i] * (window[i] - 1) - 1) /
              strides[i] +
          1);
    return shape;
  }
};
} // namespace

static std::string list(const std::vector<int64_t> &values) {
  std::string text = "array<i64";
  for (size_t i = 0; i < values.size(); ++i)
    text += (i ? ", " : ": ") + std::to_string(values[i]);
  return text + ">";
}

static std::string tensor(std::vector<int64_t> lead,
                          const std::vector<int64_t> &shape,
                          const char *element = "f32") {
  std::string text = "tensor<";
  lead.insert(lead.end(), shape.begin(), shape.end());
  for (int64_t extent : lead)
    text += std::to_string(extent) + "x";
  return text + element + ">";
}

static int64_t product(const std::vector<int64_t> &values) {
  int64_t result = 1;
  for (int64_t v : values)
    result *= v;
  return result;
}

/// Calls body(output, taps): for each output of a plane, the index in the plane
/// and the position (which may lie outside) of each tap.
static void
forEachWindow(const Windows &w,
              std::function<void(int64_t, int64_t tap, int64_t at,
                                 const std::vector<int64_t> &position)>
                  body) {
  std::vector<int64_t> out = w.out();
  size_t rank = out.size();
  for (int64_t o = 0; o < product(out); ++o)
    for (int64_t t = 0; t < product(w.window); ++t) {
      std::vector<int64_t> position(rank);
      int64_t ro = o, rt = t, at = 0, stride = 1;
      for (size_t i = rank; i-- > 0;) {
        position[i] = ro % out[i] * w.strides[i] +
                      rt % w.window[i] * w.dilations[i] - w.begin[i];
        ro /= out[i];
        rt /= w.window[i];
        if (position[i] < 0 || position[i] >= w.in[i])
          at = -1;
        if (at >= 0)
          at += position[i] * stride;
        stride *= w.in[i];
      }
      body(o, t, at, position);
    }
}

static std::string geometry(const Windows &w) {
  return "strides = " + list(w.strides) + ", dilations = " + list(w.dilations) +
         ", pads_begin = " + list(w.begin) + ", pads_end = " + list(w.end);
}

class WindowShapes : public testing::TestWithParam<Windows> {};

INSTANTIATE_TEST_SUITE_P(
    All, WindowShapes,
    testing::Values(
        Windows{{16, 16}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
        Windows{{8, 12}, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}},
        Windows{{9, 7}, {3, 2}, {1, 1}, {2, 1}, {2, 0}, {1, 1}},
        Windows{{14, 14}, {5, 5}, {1, 1}, {1, 1}, {2, 2}, {2, 2}},
        Windows{{7, 7}, {3, 3}, {3, 3}, {1, 1}, {0, 0}, {2, 2}},
        Windows{{30}, {4}, {3}, {2}, {3}, {0}},
        Windows{
            {5, 6, 7}, {2, 3, 3}, {1, 2, 1}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}},
        Windows{{20, 20}, {13, 11}, {1, 3}, {1, 1}, {6, 5}, {6, 5}},
        Windows{{100}, {70}, {5}, {1}, {0}, {0}}));

TEST_P(WindowShapes, MaxPool) {
  const Windows &w = GetParam();
  std::string in = tensor({2, 3}, w.in), out = tensor({2, 3}, w.out());
  int64_t plane = product(w.in), outPlane = product(w.out());
  std::vector<float> x = randomFloats(6 * plane);
  x[plane / 2] = NAN;
  KernelRun run = runGroup(
      groupText({in}, {out},
                "%1 = pascaline.neg %0 : " + in +
                    "\n%2 = pascaline.max_pool %1 {window = " + list(w.window) +
                    ", " + geometry(w) + "} : " + in +
                    "\n%3 = pascaline.add %2, %2 : " + out + ", " + out +
                    "\npascaline.yield %3 : " + out),
      {bytesOf(x)});
  ASSERT_EQ(run.error, "") << run.ptx;
  EXPECT_EQ(run.ptx.find(".local"), std::string::npos);
  std::vector<float> y = valuesOf<float>(run.outputs[0]);
  for (int64_t c = 0; c < 6; ++c) {
    std::vector<float> expected(outPlane, -INFINITY);
    forEachWindow(w, [&](int64_t o, int64_t, int64_t at, const auto &) {
      if (at < 0 || std::isnan(expected[o]))
        return;
      float v = -x[c * plane + at];
      expected[o] = std::isnan(v) ? v : std::max(expected[o], v);
    });
    for (int64_t o = 0; o < outPlane; ++o) {
      if (std::isnan(expected[o]))
        ASSERT_TRUE(std::isnan(y[c * outPlane + o])) << o;
      else
        ASSERT_EQ(y[c * outPlane + o], 2 * expected[o]) << o;
    }
  }
}

TEST_P(WindowShapes, AvgPoolCountsWhatItIsToldTo) {
  const Windows &w = GetParam();
  std::string in = tensor({1, 4}, w.in), out = tensor({1, 4}, w.out());
  int64_t plane = product(w.in), outPlane = product(w.out());
  std::vector<float> x = randomFloats(4 * plane);
  for (bool countPadding : {false, true}) {
    std::vector<int64_t> zero(w.in.size(), 0);
    std::vector<int64_t> low = countPadding ? w.begin : zero;
    KernelRun run = runGroup(
        groupText({in}, {out},
                  "%1 = pascaline.avg_pool %0 {window = " + list(w.window) +
                      ", " + geometry(w) + ", counted_begin = " + list(low) +
                      ", counted_end = " + list(zero) + "} : " + in +
                      "\npascaline.yield %1 : " + out),
        {bytesOf(x)});
    ASSERT_EQ(run.error, "") << run.ptx;
    std::vector<float> y = valuesOf<float>(run.outputs[0]);
    for (int64_t c = 0; c < 4; ++c) {
      std::vector<double> sum(outPlane), count(outPlane);
      forEachWindow(w, [&](int64_t o, int64_t, int64_t at,
                           const std::vector<int64_t> &position) {
        bool counts = true;
        for (size_t i = 0; i < position.size(); ++i)
          counts &= position[i] >= -low[i] && position[i] < w.in[i];
        count[o] += counts;
        if (at >= 0)
          sum[o] += x[c * plane + at];
      });
      for (int64_t o = 0; o < outPlane; ++o)
        ASSERT_NEAR(y[c * outPlane + o], sum[o] / count[o], 3e-6) << o;
    }
  }
}

TEST_P(WindowShapes, Depthwise) {
  const Windows &w = GetParam();
  // Two output channels an input channel.
  std::string in = tensor({2, 3}, w.in), out = tensor({2, 6}, w.out()),
              filter = tensor({6, 1}, w.window);
  std::string bias = tensor({6}, std::vector<int64_t>(w.in.size(), 1));
  int64_t plane = product(w.in), outPlane = product(w.out()),
          taps = product(w.window);
  std::vector<float> x = randomFloats(6 * plane),
                     f = randomFloats(6 * taps, -1, 1, 5),
                     b = randomFloats(6, -1, 1, 9);
  KernelRun run =
      runGroup(groupText({in, filter, bias}, {out},
                         "%3 = pascaline.conv %0, %1 {" + geometry(w) +
                             ", groups = 3 : i64} : " + in + ", " + filter +
                             "\n%4 = pascaline.add %3, %2 : " + out + ", " +
                             bias + "\n%5 = pascaline.relu %4 : " + out +
                             "\npascaline.yield %5 : " + out),
               {bytesOf(x), bytesOf(f), bytesOf(b)});
  ASSERT_EQ(run.error, "") << run.ptx;
  EXPECT_EQ(run.ptx.find(".local"), std::string::npos);
  std::vector<float> y = valuesOf<float>(run.outputs[0]);
  for (int64_t c = 0; c < 12; ++c) {
    std::vector<double> sum(outPlane, b[c % 6]);
    forEachWindow(w, [&](int64_t o, int64_t t, int64_t at, const auto &) {
      if (at >= 0)
        sum[o] += double(x[c / 2 * plane + at]) * f[c % 6 * taps + t];
    });
    for (int64_t o = 0; o < outPlane; ++o)
      ASSERT_NEAR(y[c * outPlane + o], std::max(sum[o], 0.0), 2e-5)
          << c << " " << o << " " << run.configuration;
  }
}

TEST(Pool, ComparesIntegersAsTheirTypeSays) {
  std::vector<uint8_t> x = {1, 2, 250, 3, 4, 5, 6, 200};
  KernelRun run =
      runGroup(groupText({"tensor<1x1x8xui8>"}, {"tensor<1x1x4xui8>"}, R"(
    %1 = pascaline.max_pool %0 {window = array<i64: 2>,
        strides = array<i64: 2>, dilations = array<i64: 1>,
        pads_begin = array<i64: 0>, pads_end = array<i64: 0>}
        : tensor<1x1x8xui8>
    pascaline.yield %1 : tensor<1x1x4xui8>)"),
               {bytesOf(x)});
  ASSERT_EQ(run.error, "") << run.ptx;
  EXPECT_EQ(valuesOf<uint8_t>(run.outputs[0]),
            (std::vector<uint8_t>{2, 250, 5, 200}));
}
