// Convolutions as contractions against plain loops: one to three dimensions,
// every kind of geometry, variable and packed filters, epilogues, views.

#include "test/compiler/KernelHarness.h"

#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

using namespace pascaline::test;

namespace {

using Extents = std::vector<int64_t>;

int64_t product(const Extents &values) {
  return std::accumulate(values.begin(), values.end(), int64_t(1),
                         std::multiplies<int64_t>());
}

std::string list(const Extents &values) {
  std::string text = "array<i64";
  for (size_t i = 0; i < values.size(); ++i)
    text += (i ? ", " : ": ") + std::to_string(values[i]);
  return text + ">";
}

std::string tensor(const Extents &shape) {
  std::string text = "tensor<";
  for (int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text + "f32>";
}

struct Conv {
  int64_t images, channels, outputs, groups;
  Extents in, window, strides, dilations, begin, end;

  size_t rank() const { return in.size(); }
  Extents out() const {
    Extents shape;
    for (size_t i = 0; i < rank(); ++i)
      shape.push_back(
          (in[i] + begin[i] + end[i] - dilations[i] * (window[i] - 1) - 1) /
              strides[i] +
          1);
    return shape;
  }
  static Extents join(Extents a, const Extents &b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
  Extents x() const { return join({images, channels}, in); }
  Extents w() const { return join({outputs, channels / groups}, window); }
  Extents y() const { return join({images, outputs}, out()); }
  std::string op(const std::string &x, const std::string &w) const {
    return "pascaline.conv " + x + ", " + w + " {strides = " + list(strides) +
           ", dilations = " + list(dilations) +
           ", pads_begin = " + list(begin) + ", pads_end = " + list(end) +
           ", groups = " + std::to_string(groups) +
           " : i64} : " + tensor(this->x()) + ", " + tensor(this->w()) + "\n";
  }
};

Conv square(int64_t channels, int64_t outputs, int64_t in, int64_t window,
            int64_t stride, int64_t pad, int64_t images = 1,
            int64_t groups = 1) {
  return {images,           channels,         outputs, groups,     {in, in},
          {window, window}, {stride, stride}, {1, 1},  {pad, pad}, {pad, pad}};
}

/// The sums in double, one an output, and the sum of their terms' sizes.
void reference(const Conv &c, const std::vector<float> &x,
               const std::vector<float> &w, std::vector<double> &y,
               std::vector<double> &size) {
  Extents out = c.out();
  int64_t places = product(out), taps = product(c.window);
  int64_t inPlaces = product(c.in), cg = c.channels / c.groups;
  y.assign(c.images * c.outputs * places, 0);
  size = y;
  auto split = [](int64_t index, const Extents &shape) {
    Extents at(shape.size());
    for (size_t i = shape.size(); i-- > 0; index /= shape[i])
      at[i] = index % shape[i];
    return at;
  };
  for (size_t i = 0; i < y.size(); ++i) {
    Extents place = split(i % places, out);
    int64_t m = i / places % c.outputs, image = i / places / c.outputs;
    int64_t group = m / (c.outputs / c.groups);
    for (int64_t tap = 0; tap < taps; ++tap) {
      Extents offset = split(tap, c.window);
      int64_t at = 0;
      bool inside = true;
      for (size_t d = 0; d < c.rank(); ++d) {
        int64_t position =
            place[d] * c.strides[d] + offset[d] * c.dilations[d] - c.begin[d];
        inside = inside && position >= 0 && position < c.in[d];
        at = at * c.in[d] + position;
      }
      if (!inside)
        continue;
      for (int64_t channel = 0; channel < cg; ++channel) {
        double term =
            double(x[(image * c.channels + group * cg + channel) * inPlaces +
                     at]) *
            w[(m * cg + channel) * taps + tap];
        y[i] += term;
        size[i] += std::abs(term);
      }
    }
  }
}

void expectClose(const std::vector<float> &got, const std::vector<double> &want,
                 const std::vector<double> &size) {
  ASSERT_EQ(got.size(), want.size());
  int wrong = 0;
  for (size_t i = 0; i < got.size() && wrong < 5; ++i)
    if (!(std::abs(got[i] - want[i]) <= 1e-6 * size[i] + 1e-6)) {
      ADD_FAILURE() << "element " << i << " is " << got[i] << ", not "
                    << want[i];
      ++wrong;
    }
}

/// relu(conv(x, w) + bias + residual), with the filter constant or not.
void check(const Conv &c, bool constantFilter) {
  SCOPED_TRACE(c.op("%x", "%w"));
  std::string filter = tensor(c.w()), y = tensor(c.y());
  Extents biasShape(c.rank() + 1, 1);
  biasShape[0] = c.outputs;
  std::string bias = tensor(biasShape);
  // The harness gives constants the bytes that the test passes.
  std::string parameters =
      "%x: " + tensor(c.x()) + ", %b: " + bias + ", %r: " + y;
  std::string constant;
  if (constantFilter)
    constant = "%w = pascaline.constant dense<1.0> : " + filter + "\n";
  else
    parameters += ", %w: " + filter;
  std::string types = tensor(c.x()) + ", " + filter + ", " + bias + ", " + y;
  std::string text =
      "func.func @main(" + parameters + ") -> " + y + " {\n" + constant +
      "%y = pascaline.fused(%x, %w, %b, %r) : (" + types + ") -> " + y +
      " {\n^bb0(%0: " + tensor(c.x()) + ", %1: " + filter + ", %2: " + bias +
      ", %3: " + y + "):\n%4 = " + c.op("%0", "%1") +
      "%5 = pascaline.add %4, %2 : " + y + ", " + bias +
      "\n%6 = pascaline.add %5, %3 : " + y + ", " + y +
      "\n%7 = pascaline.relu %6 : " + y + "\npascaline.yield %7 : " + y +
      "\n}\nreturn %y : " + y + "\n}";

  std::vector<float> xs = randomFloats(product(c.x()), -1, 1, 1);
  std::vector<float> ws = randomFloats(product(c.w()), -1, 1, 2);
  std::vector<float> bs = randomFloats(c.outputs, -1, 1, 3);
  std::vector<float> rs = randomFloats(product(c.y()), -1, 1, 4);
  KernelRun run =
      runGroup(text, {bytesOf(xs), bytesOf(ws), bytesOf(bs), bytesOf(rs)});
  ASSERT_EQ(run.error, "");
  EXPECT_EQ(run.ptx.find(".local"), std::string::npos);
  std::vector<double> want, size;
  reference(c, xs, ws, want, size);
  int64_t places = product(c.out());
  for (size_t i = 0; i < want.size(); ++i) {
    double add = double(bs[i / places % c.outputs]) + rs[i];
    want[i] = std::max(want[i] + add, 0.0);
    size[i] += 2;
  }
  expectClose(valuesOf<float>(run.outputs[0]), want, size);
}

TEST(Conv, Geometry) {
  for (bool constantFilter : {true, false}) {
    SCOPED_TRACE(constantFilter ? "packed" : "in place");
    check(square(16, 24, 8, 1, 1, 0), constantFilter);
    check(square(16, 24, 9, 1, 2, 0), constantFilter);
    check(square(16, 24, 7, 3, 1, 1), constantFilter);
    check(square(3, 20, 15, 7, 2, 3), constantFilter);
    check(square(12, 9, 6, 5, 1, 2, 2), constantFilter);
    check(square(16, 12, 6, 3, 1, 1, 2, 4), constantFilter);
  }
}

TEST(Conv, OneDimension) {
  check({2, 8, 10, 1, {33}, {5}, {2}, {1}, {2}, {1}}, true);
  check({1, 6, 4, 2, {20}, {3}, {1}, {4}, {0}, {5}}, true);
}

TEST(Conv, ThreeDimensions) {
  check({1,
         4,
         6,
         1,
         {5, 6, 7},
         {3, 3, 3},
         {1, 2, 1},
         {1, 1, 2},
         {1, 0, 2},
         {1, 1, 1}},
        true);
}

TEST(Conv, PadsThatDiffer) {
  check({1, 8, 8, 1, {6, 9}, {3, 2}, {1, 3}, {2, 1}, {0, 1}, {3, 0}}, true);
  // Windows wholly in the padding.
  check({1, 8, 8, 1, {3, 3}, {2, 2}, {2, 2}, {1, 1}, {4, 4}, {4, 4}}, true);
}

TEST(Conv, DeepAndSmallIsSliced) {
  Conv c = square(256, 40, 5, 3, 1, 1);
  check(c, true);
  std::string text = groupText({tensor(c.x()), tensor(c.w())}, {tensor(c.y())},
                               "%2 = " + c.op("%0", "%1") +
                                   "pascaline.yield %2 : " + tensor(c.y()));
  EXPECT_NE(compileGroup(text).configuration.find("slices"), std::string::npos);
}

TEST(Conv, ReadsATransposedImageInPlace) {
  Conv c = square(16, 12, 6, 3, 1, 1, 2);
  std::string stored = "tensor<2x6x6x16xf32>";
  std::string text = groupText(
      {stored, tensor(c.w())}, {tensor(c.y())},
      "%2 = pascaline.transpose %0 {perm = array<i64: 0, 3, 1, 2>} : " +
          stored + "\n%3 = " + c.op("%2", "%1") +
          "pascaline.yield %3 : " + tensor(c.y()));
  std::vector<float> last = randomFloats(product(c.x()), -1, 1, 1), x = last;
  std::vector<float> w = randomFloats(product(c.w()), -1, 1, 2);
  for (int64_t n = 0; n < 2; ++n)
    for (int64_t p = 0; p < 36; ++p)
      for (int64_t channel = 0; channel < 16; ++channel)
        x[(n * 16 + channel) * 36 + p] = last[(n * 36 + p) * 16 + channel];
  KernelRun run = runGroup(text, {bytesOf(last), bytesOf(w)});
  ASSERT_EQ(run.error, "");
  std::vector<double> want, size;
  reference(c, x, w, want, size);
  expectClose(valuesOf<float>(run.outputs[0]), want, size);
}

TEST(Conv, RefusesDoubles) {
  std::string text = groupText(
      {"tensor<1x4x4x4xf64>", "tensor<4x4x1x1xf64>"}, {"tensor<1x4x4x4xf64>"},
      "%2 = pascaline.conv %0, %1 {strides = array<i64: 1, 1>, dilations = "
      "array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: "
      "0, 0>, groups = 1 : i64} : tensor<1x4x4x4xf64>, tensor<4x4x1x1xf64>\n"
      "pascaline.yield %2 : tensor<1x4x4x4xf64>");
  EXPECT_NE(compileGroup(text).error.find(
                "contractions are computed of f32 and f16, not of 'f64'"),
            std::string::npos)
      << compileGroup(text).error;
}

} // namespace
