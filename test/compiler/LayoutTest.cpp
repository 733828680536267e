// Kernels that read and store tensors of every layout, against an addressing
// written here by hand: copies, convolutions, pools; the zeros of halos.

#include "compiler/ir/Layout.h"
#include "compiler/ir/Dialect.h"
#include "test/compiler/KernelHarness.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace pascaline::test;

namespace {

using Extents = std::vector<int64_t>;

std::string list(const Extents &values) {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i)
    text += (i ? ", " : "") + std::to_string(values[i]);
  return text;
}

/// A layout of tensors n, c, h, w.
struct Layout {
  Extents order = {0, 1, 2, 3};
  int64_t pack = 0; ///< of channels
  int64_t halo = 0; ///< of h and w

  std::string text() const {
    std::string text = "#pascaline.layout<order = [" + list(order) + "]";
    if (pack)
      text += ", packed = 1, pack = " + std::to_string(pack);
    if (halo)
      text += ", halo = [0, 0, " + list({halo, halo}) + "]";
    return text + ">";
  }
};

std::string tensor(const Extents &shape, const Layout *layout = nullptr,
                   const std::string &element = "f32") {
  std::string text = "tensor<";
  for (int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text + element + (layout ? ", " + layout->text() : "") + ">";
}

/// Where an element lies, and how many there are.
struct Memory {
  Extents extents, order;
  int64_t pack, halo;

  Memory(const Extents &shape, const Layout &layout)
      : extents(shape), order(layout.order),
        pack(std::max<int64_t>(layout.pack, 1)), halo(layout.halo) {
    extents[2] += 2 * halo;
    extents[3] += 2 * halo;
    extents[1] = (shape[1] + pack - 1) / pack;
  }
  size_t size() const {
    return extents[0] * extents[1] * extents[2] * extents[3] * pack;
  }
  /// Of place (n, c, h, w); h and w count from the first element.
  size_t at(int64_t n, int64_t c, int64_t h, int64_t w) const {
    Extents index = {n, c / pack, h + halo, w + halo};
    size_t sum = 0;
    for (int64_t d : order)
      sum = sum * extents[d] + index[d];
    return sum * pack + c % pack;
  }
};

template <typename Body> void forEach(const Extents &shape, Body body) {
  size_t i = 0;
  for (int64_t n = 0; n < shape[0]; ++n)
    for (int64_t c = 0; c < shape[1]; ++c)
      for (int64_t h = 0; h < shape[2]; ++h)
        for (int64_t w = 0; w < shape[3]; ++w)
          body(i++, n, c, h, w);
}

/// Row-major to a layout; what is no element of the tensor is zero.
std::vector<float> laidOut(const std::vector<float> &x, const Extents &shape,
                           const Layout &layout) {
  Memory memory(shape, layout);
  std::vector<float> result(memory.size(), 0);
  forEach(shape, [&](size_t i, int64_t n, int64_t c, int64_t h, int64_t w) {
    result[memory.at(n, c, h, w)] = x[i];
  });
  return result;
}

/// Back; checks that the halo is zero.
std::vector<float> rowMajor(const std::vector<float> &y, const Extents &shape,
                            const Layout &layout) {
  Memory memory(shape, layout);
  EXPECT_EQ(y.size(), memory.size());
  std::vector<float> result;
  forEach(shape, [&](size_t, int64_t n, int64_t c, int64_t h, int64_t w) {
    result.push_back(y[memory.at(n, c, h, w)]);
  });
  int64_t k = layout.halo;
  for (int64_t n = 0; n < shape[0]; ++n)
    for (int64_t c = 0; c < shape[1]; ++c)
      for (int64_t h = -k; h < shape[2] + k; ++h)
        for (int64_t w = -k; w < shape[3] + k; ++w)
          if (h < 0 || w < 0 || h >= shape[2] || w >= shape[3])
            EXPECT_EQ(y[memory.at(n, c, h, w)], 0)
                << layout.text() << " halo " << list({n, c, h, w});
  return result;
}

const std::vector<Layout> kLayouts = {
    {{0, 2, 3, 1}, 0, 0}, {{0, 1, 2, 3}, 4, 0}, {{0, 1, 2, 3}, 4, 1},
    {{0, 1, 2, 3}, 0, 2}, {{0, 2, 3, 1}, 0, 1}, {{1, 0, 3, 2}, 2, 0},
};

/// Group of `body` from x (%1, in a layout) and others (%2 on) to %y.
std::string textOf(const Extents &in, const Layout &from, const Extents &out,
                   const Layout &to, const std::string &body,
                   std::vector<std::string> others = {}) {
  others.insert(others.begin(), tensor(in, &from));
  return groupText(others, {tensor(out, &to)},
                   "  %x = pascaline.relayout %0 : " + tensor(in, &from) +
                       " -> " + tensor(in) + "\n" + body +
                       "  %z = pascaline.relayout %y : " + tensor(out) +
                       " -> " + tensor(out, &to) +
                       "\n  pascaline.yield %z : " + tensor(out, &to));
}

TEST(Layout, MemoryOfPackedTensorWithHalo) {
  mlir::MLIRContext context;
  context.loadDialect<pascaline::PascalineDialect>();
  auto layout =
      pascaline::LayoutAttr::get(&context, {0, 1, 2, 3}, 1, 4, {0, 0, 1, 1});
  auto type = mlir::RankedTensorType::get(
      {1, 62, 56, 56}, mlir::Float32Type::get(&context), layout);
  pascaline::MemoryLayout memory = pascaline::memoryLayout(type);
  Extents extents, strides;
  for (const pascaline::MemoryAxis &axis : memory.axes) {
    extents.push_back(axis.extent);
    strides.push_back(axis.stride);
  }
  EXPECT_EQ(extents, (Extents{1, 16, 58, 58, 4}));
  EXPECT_EQ(strides, (Extents{215296, 13456, 232, 4, 1}));
  EXPECT_EQ(memory.offset, 236);
  EXPECT_EQ(memory.elements, 215296);
}

TEST(Layout, CopiesFromAndToAll) {
  Extents shape = {2, 8, 5, 6};
  std::vector<float> x = randomFloats(480);
  for (const Layout &from : kLayouts)
    for (const Layout &to : kLayouts) {
      KernelRun run =
          runGroup(textOf(shape, from, shape, to,
                          "  %y = pascaline.neg %x : " + tensor(shape) + "\n"),
                   {bytesOf(laidOut(x, shape, from))});
      ASSERT_EQ(run.error, "") << from.text() << " to " << to.text();
      std::vector<float> y =
          rowMajor(valuesOf<float>(run.outputs[0]), shape, to);
      for (size_t i = 0; i < x.size(); ++i)
        ASSERT_EQ(y[i], -x[i])
            << from.text() << " to " << to.text() << " " << i;
    }
}

struct Window {
  int64_t channels, in, outputs, window, stride, pad, dilation, groups;
};

void checkConv(const Window &c, const Layout &from, const Layout &to) {
  std::string what = from.text() + " to " + to.text() + ", window " +
                     std::to_string(c.window) + ", channels " +
                     std::to_string(c.channels);
  int64_t out =
      (c.in + 2 * c.pad - c.dilation * (c.window - 1) - 1) / c.stride + 1;
  Extents in = {2, c.channels, c.in, c.in}, y = {2, c.outputs, out, out};
  Extents w = {c.outputs, c.channels / c.groups, c.window, c.window};
  auto pair = [](int64_t v) { return "array<i64: " + list({v, v}) + ">"; };
  std::string body =
      "  %c = pascaline.conv %x, %1 {strides = " + pair(c.stride) +
      ", dilations = " + pair(c.dilation) + ", pads_begin = " + pair(c.pad) +
      ", pads_end = " + pair(c.pad) + ", groups = " + std::to_string(c.groups) +
      " : i64} : " + tensor(in) + ", " + tensor(w) +
      "\n  %y = pascaline.relu %c : " + tensor(y) + "\n";
  std::vector<float> x = randomFloats(2 * c.channels * c.in * c.in);
  std::vector<float> weights = randomFloats(
      c.outputs * c.channels / c.groups * c.window * c.window, -1, 1, 2);
  KernelRun run = runGroup(textOf(in, from, y, to, body, {tensor(w)}),
                           {bytesOf(laidOut(x, in, from)), bytesOf(weights)});
  ASSERT_EQ(run.error, "") << what;
  std::vector<float> got = rowMajor(valuesOf<float>(run.outputs[0]), y, to);
  int64_t perGroup = c.channels / c.groups;
  forEach(y, [&](size_t i, int64_t n, int64_t m, int64_t h, int64_t v) {
    double sum = 0, size = 0;
    for (int64_t k = 0; k < perGroup; ++k)
      for (int64_t r = 0; r < c.window; ++r)
        for (int64_t s = 0; s < c.window; ++s) {
          int64_t row = h * c.stride + r * c.dilation - c.pad;
          int64_t column = v * c.stride + s * c.dilation - c.pad;
          if (row < 0 || column < 0 || row >= c.in || column >= c.in)
            continue;
          int64_t channel = m / (c.outputs / c.groups) * perGroup + k;
          double term =
              double(x[((n * c.channels + channel) * c.in + row) * c.in +
                       column]) *
              weights[((m * perGroup + k) * c.window + r) * c.window + s];
          sum += term;
          size += std::abs(term);
        }
    ASSERT_NEAR(got[i], std::max(sum, 0.0), 1e-6 * size + 1e-6) << what;
  });
}

TEST(Layout, ConvolutionsFromAndToAll) {
  // The halo is what padding needs, less, or more.
  for (Window c : {Window{16, 7, 12, 3, 1, 1, 1, 1},
                   {8, 9, 20, 3, 2, 1, 1, 1},
                   {12, 8, 8, 5, 1, 2, 1, 1},
                   {16, 9, 16, 3, 1, 2, 2, 2},
                   {32, 6, 16, 1, 1, 0, 1, 1},
                   {20, 6, 6, 3, 1, 1, 1, 1}})
    for (const Layout &layout : kLayouts) {
      if (layout.pack == 2)
        continue; // no layout of a convolution's own choice
      checkConv(c, layout, {{0, 1, 2, 3}, 0, 1});
      if (c.outputs % 4 == 0)
        checkConv(c, {{0, 1, 2, 3}, 0, 0}, layout);
    }
}

TEST(Layout, PoolsFromAndToAll) {
  Extents in = {2, 8, 8, 8}, out = {2, 8, 4, 4};
  std::vector<float> x = randomFloats(1024);
  std::string body =
      "  %y = pascaline.max_pool %x {window = array<i64: 3, 3>, strides = "
      "array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_begin = array<i64: "
      "1, 1>, pads_end = array<i64: 0, 0>} : " +
      tensor(in) + "\n";
  for (const Layout &from : kLayouts)
    for (const Layout &to : kLayouts) {
      KernelRun run = runGroup(textOf(in, from, out, to, body),
                               {bytesOf(laidOut(x, in, from))});
      ASSERT_EQ(run.error, "");
      std::vector<float> y = rowMajor(valuesOf<float>(run.outputs[0]), out, to);
      forEach(out, [&](size_t i, int64_t n, int64_t c, int64_t h, int64_t w) {
        float best = -INFINITY;
        for (int64_t r = std::max<int64_t>(2 * h - 1, 0); r < 2 * h + 2; ++r)
          for (int64_t s = std::max<int64_t>(2 * w - 1, 0); s < 2 * w + 2; ++s)
            best = std::max(best, x[((n * 8 + c) * 8 + r) * 8 + s]);
        ASSERT_EQ(y[i], best) << from.text() << " to " << to.text();
      });
    }
}

TEST(Layout, RefusesWhatItCannotReadInPlace) {
  Layout packed = {{0, 1, 2, 3}, 4, 0};
  Extents shape = {1, 4, 4, 4};
  std::string t = tensor(shape);
  KernelRun run = compileGroup(
      groupText({tensor(shape, &packed), t}, {t},
                "  %x = pascaline.relayout %0 : " + tensor(shape, &packed) +
                    " -> " + t + "\n  %y = pascaline.matmul %x, %1 : " + t +
                    ", " + t + "\n  pascaline.yield %y : " + t));
  EXPECT_NE(run.error.find("is packed or has a halo"), std::string::npos)
      << run.error;
}

} // namespace
