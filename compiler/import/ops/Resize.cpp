// Resize.cpp - Resize and Upsample.
//
// Along one axis, an output element is a weighted sum of a few input elements
// at places that only the sizes decide. So an axis becomes a sum of gathers
// with constant indices and weights (its taps), whatever the mode.
#include "compiler/import/OpTable.h"
#include "compiler/import/Text.h"
#include "compiler/import/ops/Common.h"
#include "compiler/ir/Constants.h"
#include "compiler/ir/Dialect.h"
#include "compiler/ir/Types.h"

#include <cmath>

using namespace mlir;

namespace pascaline::importer {
namespace {

// Weighted sums with more terms than this would be slow as gathers.
constexpr int64_t kMostTaps = 64;

struct Rules {
  StringRef mode, transform, nearest, policy;
  double cubic = -0.75, extrapolation = 0;
  bool excludeOutside = false, antialias = false;
};

struct Axis {
  int64_t in, out;
  double scale;
  double roiStart = 0, roiEnd = 1;
};

// For each output element, the same number of input places and weights.
struct Taps {
  llvm::SmallVector<llvm::SmallVector<int64_t>> places; // [tap][output]
  llvm::SmallVector<llvm::SmallVector<double>> weights;
  llvm::SmallVector<bool> outside; // outputs that take the extrapolation value
  bool weighted = false;
};

double originalPlace(const Rules &rules, const Axis &a, int64_t i) {
  double x = static_cast<double>(i), in = static_cast<double>(a.in);
  // The size before it was rounded down, which is what the specification's
  // reference computes with.
  double out = in * a.scale;
  if (rules.transform == "asymmetric")
    return x / a.scale;
  if (rules.transform == "align_corners")
    return a.out == 1 ? 0 : x * (in - 1) / (out - 1);
  if (rules.transform == "pytorch_half_pixel")
    return a.out == 1 ? 0 : (x + 0.5) / a.scale - 0.5;
  if (rules.transform == "tf_half_pixel_for_nn")
    return (x + 0.5) / a.scale;
  if (rules.transform == "half_pixel_symmetric") {
    double adjustment = static_cast<double>(a.out) / out;
    return in / 2 * (1 - adjustment) + (x + 0.5) / a.scale - 0.5;
  }
  if (rules.transform == "tf_crop_and_resize") {
    if (a.out == 1)
      return 0.5 * (a.roiStart + a.roiEnd) * (in - 1);
    return a.roiStart * (in - 1) +
           x * (a.roiEnd - a.roiStart) * (in - 1) / (out - 1);
  }
  return (x + 0.5) / a.scale - 0.5; // half_pixel
}

int64_t nearestPlace(StringRef mode, double x) {
  if (mode == "floor")
    return static_cast<int64_t>(std::floor(x));
  if (mode == "ceil")
    return static_cast<int64_t>(std::ceil(x));
  if (mode == "round_prefer_ceil")
    return static_cast<int64_t>(std::floor(x + 0.5));
  return static_cast<int64_t>(std::ceil(x - 0.5)); // round_prefer_floor
}

// The filters' weight at a distance from the centre.
double filterWeight(const Rules &rules, double distance) {
  double d = std::fabs(distance);
  if (rules.mode == "linear")
    return d < 1 ? 1 - d : 0;
  double a = rules.cubic;
  if (d <= 1)
    return ((a + 2) * d - (a + 3)) * d * d + 1;
  if (d < 2)
    return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  return 0;
}

Taps makeTaps(const Rules &rules, const Axis &a) {
  Taps taps;
  bool nearest = rules.mode == "nearest";
  taps.weighted = !nearest;
  // When shrinking with antialias the filter stretches over what it skips.
  double stretch = rules.antialias && a.scale < 1 ? 1 / a.scale : 1;
  int64_t reach = nearest ? 0
                          : static_cast<int64_t>(std::ceil(
                                stretch * (rules.mode == "linear" ? 1 : 2)));
  int64_t count = nearest ? 1 : 2 * reach;
  taps.places.resize(count);
  taps.weights.resize(count);
  for (int64_t i = 0; i < a.out; ++i) {
    // A hostile scale or region may lead anywhere; beyond kFar it is all edge.
    constexpr double kFar = 1e12;
    double x = originalPlace(rules, a, i);
    x = x > -kFar ? std::min(x, kFar) : -kFar;
    taps.outside.push_back(rules.transform == "tf_crop_and_resize" &&
                           (x < 0 || x > static_cast<double>(a.in - 1)));
    if (nearest) {
      taps.places[0].push_back(
          std::clamp<int64_t>(nearestPlace(rules.nearest, x), 0, a.in - 1));
      continue;
    }
    int64_t first = static_cast<int64_t>(std::floor(x)) - reach + 1;
    double sum = 0;
    for (int64_t t = 0; t < count; ++t) {
      int64_t place = first + t;
      bool out = place < 0 || place >= a.in;
      double weight =
          filterWeight(rules, (static_cast<double>(place) - x) / stretch);
      if (out && rules.excludeOutside)
        weight = 0;
      sum += weight;
      taps.places[t].push_back(std::clamp<int64_t>(place, 0, a.in - 1));
      taps.weights[t].push_back(weight);
    }
    if (rules.excludeOutside || stretch != 1)
      for (int64_t t = 0; t < count; ++t)
        taps.weights[t].back() /= sum;
  }
  return taps;
}

// Whether every element is repeated `factor` times, in order.
bool isRepeat(ArrayRef<int64_t> places, int64_t in) {
  auto out = static_cast<int64_t>(places.size());
  if (in == 0 || out % in)
    return false;
  for (int64_t i = 0; i < out; ++i)
    if (places[i] != i / (out / in))
      return false;
  return true;
}

// The axes that are enlarged by a whole factor, at once and as views, which
// fuse into neighbours where gathers do not; `done` marks them.
Value repeatAxes(NodeImporter &n, Value x, const Rules &rules,
                 ArrayRef<Axis> axes, llvm::SmallVectorImpl<bool> &done) {
  Shape split, wide, joined;
  for (auto [axis, a] : llvm::enumerate(axes)) {
    split.push_back(a.in);
    wide.push_back(a.in);
    joined.push_back(a.in);
    if (done[axis] || !isRepeat(makeTaps(rules, a).places[0], a.in))
      continue;
    done[axis] = true;
    split.push_back(1);
    wide.push_back(a.out / a.in);
    joined.back() = a.out;
  }
  return n.reshape(n.broadcast(n.reshape(x, split), wide), joined);
}

Value resizeAxis(NodeImporter &n, Value x, int64_t axis, const Rules &rules,
                 const Axis &a) {
  Taps taps = makeTaps(rules, a);
  int64_t rank = rankOf(x);
  Shape along(rank, 1);
  along[axis] = a.out;
  Value y;
  for (auto [t, places] : llvm::enumerate(taps.places)) {
    // The last tap stays, should all of them weigh nothing.
    bool isLast = t + 1 == taps.places.size();
    if (taps.weighted && (y || !isLast) &&
        llvm::all_of(taps.weights[t], [](double w) { return w == 0; }))
      continue;
    Value term = n.gather(x, n.integers(places, {a.out}), axis);
    if (taps.weighted && !n.failed())
      term = n.mul(term, n.floats(taps.weights[t], along, elementOf(term)));
    y = y ? n.add(y, term) : term;
  }
  if (!llvm::is_contained(taps.outside, true) || n.failed())
    return y;
  llvm::SmallVector<char> mask(taps.outside.begin(), taps.outside.end());
  Value outside = n.constant(
      makeElements(RankedTensorType::get(along, n.builder.getI1Type()), mask));
  return n.select(outside, n.scalarLike(rules.extrapolation, y), y);
}

LogicalResult resize(NodeImporter &n, const Rules &rules, ArrayRef<Axis> axes) {
  Value x = n.input(0);
  Shape result;
  for (const Axis &a : axes) {
    if (a.in == 0 && a.out != 0)
      return n.invalid("enlarges " + typeText(x.getType()) +
                       ", which has no elements");
    double reach = rules.antialias && a.scale < 1 ? 4 / a.scale : 4;
    if (reach > kMostTaps)
      return n.unsupported(
          cat("shrinks with antialias by more than ", kMostTaps / 4, " times"));
    if (a.out > kMadeBytes / (16 * kMostTaps))
      return n.unsupported(cat("makes a dimension of ", a.out,
                               ", more than the limit of ",
                               kMadeBytes / (16 * kMostTaps)));
    result.push_back(a.out);
  }
  if (!n.checkSize(result))
    return failure();
  bool weighted = rules.mode != "nearest";
  Value y =
      weighted ? (isFloat(x) ? n.widen(x) : n.castTo(x, n.builder.getF32Type()))
               : x;
  llvm::SmallVector<bool> done(axes.size(), false);
  if (rules.transform != "tf_crop_and_resize") {
    // A size kept by a scale of 1 maps onto itself in every mode.
    for (auto [axis, a] : llvm::enumerate(axes))
      done[axis] = a.in == a.out && a.scale == 1;
    if (!weighted)
      y = repeatAxes(n, y, rules, axes, done);
  }
  for (auto [axis, a] : llvm::enumerate(axes)) {
    if (n.failed())
      return failure();
    if (!done[axis])
      y = resizeAxis(n, y, static_cast<int64_t>(axis), rules, a);
  }
  return n.done(n.narrow(y, x));
}

// A constant list of floats.
std::optional<llvm::SmallVector<double>>
constantFloats(NodeImporter &n, unsigned i, StringRef what) {
  ElementsAttr value = constantValue(n.input(i));
  if (!value || !isa<FloatType>(value.getElementType())) {
    (void)n.unsupported(cat("takes ", what, " as constant floats only"));
    return std::nullopt;
  }
  auto bytes = pascaline::elementBytes(value);
  if (!bytes) {
    (void)n.unsupported(cat("takes ", what, " as constant floats only"));
    return std::nullopt;
  }
  const auto &semantics =
      cast<FloatType>(value.getElementType()).getFloatSemantics();
  size_t width = pascaline::elementBytes(value.getElementType());
  llvm::SmallVector<double> values;
  for (size_t at = 0; at < bytes->size(); at += width) {
    uint64_t bits = 0;
    std::copy_n(bytes->data() + at, width, reinterpret_cast<char *>(&bits));
    APFloat number(semantics, APInt(width * 8, bits));
    bool loses;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
    values.push_back(number.convertToDouble());
  }
  return values;
}

// Scales for the axes named, 1 for the rest; the sizes follow.
std::optional<llvm::SmallVector<Axis>> axesFromScales(NodeImporter &n,
                                                      ArrayRef<double> scales,
                                                      ArrayRef<int64_t> named) {
  ArrayRef<int64_t> shape = shapeOf(n.input(0));
  llvm::SmallVector<Axis> axes;
  for (int64_t dim : shape)
    axes.push_back({dim, dim, 1});
  if (scales.size() != named.size()) {
    (void)n.invalid(
        cat("has ", scales.size(), " scales for ", named.size(), " axes"));
    return std::nullopt;
  }
  for (auto [axis, scale] : llvm::zip(named, scales)) {
    double out = std::floor(static_cast<double>(shape[axis]) * scale);
    if (!(scale > 0) || !(out <= INT32_MAX)) {
      (void)n.invalid(cat("has scale ", scale, " for axis ", axis, " of ",
                          typeText(n.input(0).getType())));
      return std::nullopt;
    }
    axes[axis] = {shape[axis], static_cast<int64_t>(out), scale};
  }
  return axes;
}

std::optional<llvm::SmallVector<Axis>> axesFromSizes(NodeImporter &n,
                                                     Shape sizes,
                                                     ArrayRef<int64_t> named,
                                                     StringRef policy) {
  ArrayRef<int64_t> shape = shapeOf(n.input(0));
  llvm::SmallVector<Axis> axes;
  for (int64_t dim : shape)
    axes.push_back({dim, dim, 1});
  bool fits = sizes.size() == named.size();
  for (int64_t size : sizes)
    fits &= size >= 0 && size <= INT32_MAX;
  if (!fits) {
    (void)n.invalid(
        cat("has sizes ", listText(sizes), " for ", named.size(), " axes"));
    return std::nullopt;
  }
  // One scale for all axes where the aspect ratio is to be kept.
  double common = 0;
  for (auto [axis, size] : llvm::zip(named, sizes)) {
    double scale = static_cast<double>(size) / static_cast<double>(shape[axis]);
    bool first = axis == named.front();
    if (first || (policy == "not_larger" ? scale < common : scale > common))
      common = scale;
  }
  for (auto [axis, size] : llvm::zip(named, sizes)) {
    Axis &a = axes[axis];
    double in = static_cast<double>(a.in);
    a.out = size;
    a.scale = static_cast<double>(size) / in;
    if (policy != "stretch") {
      if (!(common * in <= INT32_MAX)) {
        (void)n.invalid(cat("has sizes ", listText(sizes), " for ",
                            typeText(n.input(0).getType())));
        return std::nullopt;
      }
      a.scale = common;
      a.out = static_cast<int64_t>(std::floor(common * in + 0.5));
    }
  }
  return axes;
}

LogicalResult checkRules(NodeImporter &n, const Rules &rules) {
  auto oneOf = [&](StringRef name, StringRef value,
                   std::initializer_list<StringRef> known) {
    if (llvm::is_contained(known, value))
      return success();
    return n.invalid(cat("has ", name, "=", quoted(value),
                         ", which the operator does not have"));
  };
  return failure(
      failed(oneOf("mode", rules.mode, {"nearest", "linear", "cubic"})) ||
      failed(oneOf("coordinate_transformation_mode", rules.transform,
                   {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                    "align_corners", "asymmetric", "tf_half_pixel_for_nn",
                    "tf_crop_and_resize"})) ||
      failed(oneOf(
          "nearest_mode", rules.nearest,
          {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})) ||
      failed(oneOf("keep_aspect_ratio_policy", rules.policy,
                   {"stretch", "not_larger", "not_smaller"})));
}

LogicalResult importResize(NodeImporter &n) {
  Rules rules;
  rules.mode = n.stringAttr("mode", "nearest");
  rules.transform =
      n.stringAttr("coordinate_transformation_mode", "half_pixel");
  rules.nearest = n.stringAttr("nearest_mode", "round_prefer_floor");
  rules.policy = n.stringAttr("keep_aspect_ratio_policy", "stretch");
  rules.cubic = n.floatAttr("cubic_coeff_a", -0.75f);
  rules.extrapolation = n.floatAttr("extrapolation_value", 0);
  rules.excludeOutside = n.flagAttr("exclude_outside");
  rules.antialias = n.flagAttr("antialias");
  int64_t rank = rankOf(n.input(0));
  auto named = n.axes(n.intsAttr("axes").value_or(axesFrom(0, rank)), rank);
  if (!named || failed(checkRules(n, rules)))
    return failure();

  // An empty tensor is a way of leaving an input out.
  auto given = [&](unsigned i) {
    return n.has(i) && elementCount(shapeOf(n.input(i))) != 0;
  };
  std::optional<llvm::SmallVector<Axis>> axes;
  if (given(3)) {
    auto sizes = n.constantInput(3, "its sizes");
    if (sizes)
      axes = axesFromSizes(n, *sizes, *named, rules.policy);
  } else if (given(2)) {
    auto scales = constantFloats(n, 2, "its scales");
    if (scales)
      axes = axesFromScales(n, *scales, *named);
  } else {
    return n.invalid("has neither scales nor sizes");
  }
  if (!axes)
    return failure();
  if (rules.transform == "tf_crop_and_resize") {
    if (!given(1))
      return n.invalid("lacks the region to crop");
    auto region = constantFloats(n, 1, "its region");
    if (!region)
      return failure();
    if (region->size() != 2 * named->size())
      return n.invalid(cat("has a region of ", region->size(), " values for ",
                           named->size(), " axes"));
    for (auto [i, axis] : llvm::enumerate(*named)) {
      (*axes)[axis].roiStart = (*region)[i];
      (*axes)[axis].roiEnd = (*region)[i + named->size()];
    }
  }
  return resize(n, rules, *axes);
}

// Upsample, and Resize at opset 10: from the corner, rounding down.
LogicalResult importUpsample(NodeImporter &n) {
  Rules rules;
  rules.mode = n.stringAttr("mode", "nearest");
  // Opset 1 spoke of bilinear; it is what linear means over two axes.
  if (rules.mode == "bilinear")
    rules.mode = "linear";
  rules.transform = "asymmetric";
  rules.nearest = "floor";
  rules.policy = "stretch";
  int64_t rank = rankOf(n.input(0));
  if (failed(checkRules(n, rules)))
    return failure();
  std::optional<llvm::SmallVector<double>> scales;
  if (n.opset < 7) {
    if (rank != 4)
      return n.invalid("takes [n, c, h, w], not " +
                       typeText(n.input(0).getType()));
    scales = {1, 1, n.floatAttr("height_scale", 1),
              n.floatAttr("width_scale", 1)};
  } else if (n.opset < 9) {
    auto given = n.floatsAttr("scales");
    scales = llvm::SmallVector<double>(given->begin(), given->end());
  } else {
    scales = constantFloats(n, 1, "its scales");
  }
  if (!scales)
    return failure();
  auto axes = axesFromScales(n, *scales, axesFrom(0, rank));
  return axes ? resize(n, rules, *axes) : failure();
}

constexpr Arity kOne{1, 1}, kTwo{2, 2};
constexpr const char *kResize =
    "coordinate_transformation_mode=s cubic_coeff_a=f exclude_outside=i "
    "extrapolation_value=f mode=s nearest_mode=s";

const OpRow kRows[] = {
    {"Resize", 10, kTwo, kOne, "mode=s", importUpsample},
    {"Resize", 11, {3, 4}, kOne, kResize, importResize},
    {"Resize", 13, {1, 4}, kOne, kResize, importResize},
    {"Resize",
     18,
     {1, 4},
     kOne,
     "antialias=i axes=I coordinate_transformation_mode=s cubic_coeff_a=f "
     "exclude_outside=i extrapolation_value=f keep_aspect_ratio_policy=s "
     "mode=s nearest_mode=s",
     importResize},
    {"Upsample", 1, kOne, kOne, "height_scale=f! mode=s width_scale=f!",
     importUpsample, 9},
    {"Upsample", 7, kOne, kOne, "mode=s scales=F!", importUpsample, 9},
    {"Upsample", 9, kTwo, kOne, "mode=s", importUpsample, 9},
};

} // namespace

ArrayRef<OpRow> resizeRows() { return kRows; }

} // namespace pascaline::importer
