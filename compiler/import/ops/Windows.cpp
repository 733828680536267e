// Windows.cpp - the geometry of convolutions and pools: defaults, auto_pad and
// ceil_mode resolved into explicit pads.
#include "compiler/import/Text.h"
#include "compiler/import/ops/Common.h"

namespace pascaline::importer {
namespace {

constexpr int64_t kMost = int64_t(1) << 31;

// A list attribute with one value an axis; `least` is the smallest allowed.
std::optional<Shape> perAxis(NodeImporter &n, llvm::StringRef name,
                             size_t count, int64_t otherwise, int64_t least) {
  std::optional<Shape> values = n.intsAttr(name);
  if (!values)
    return Shape(count, otherwise);
  if (values->size() != count) {
    (void)n.invalid(cat("has ", name, "=", listText(*values), ", which takes ",
                        count, " values"));
    return std::nullopt;
  }
  for (int64_t value : *values)
    if (value < least || value > kMost) {
      (void)n.invalid(cat("has ", name, "=", listText(*values), "; ", value,
                          " is outside ", least, " to ", kMost));
      return std::nullopt;
    }
  return values;
}

} // namespace

Shape axesFrom(int64_t first, int64_t rank) {
  Shape axes;
  for (int64_t axis = first; axis < rank; ++axis)
    axes.push_back(axis);
  return axes;
}

std::optional<Windows> resolveWindows(NodeImporter &n,
                                      llvm::ArrayRef<int64_t> in,
                                      llvm::ArrayRef<int64_t> window) {
  size_t rank = in.size();
  auto strides = perAxis(n, "strides", rank, 1, 1);
  auto dilations = perAxis(n, "dilations", rank, 1, 1);
  auto pads = perAxis(n, "pads", 2 * rank, 0, 0);
  if (!strides || !dilations || !pads)
    return std::nullopt;
  Windows result{Shape(window), *strides, *dilations, {}, {}, {}};
  for (int64_t size : window)
    if (size < 1 || size > kMost) {
      (void)n.invalid(cat("has window ", dimsText(window), "; ", size,
                          " is outside 1 to ", kMost));
      return std::nullopt;
    }
  result.begin.assign(pads->begin(), pads->begin() + rank);
  result.end.assign(pads->begin() + rank, pads->end());

  llvm::StringRef mode = n.stringAttr("auto_pad", "NOTSET");
  bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (!same && mode != "VALID" && mode != "NOTSET" && !mode.empty()) {
    (void)n.invalid("has auto_pad=" + quoted(mode) +
                    "; it is NOTSET, SAME_UPPER, SAME_LOWER or VALID");
    return std::nullopt;
  }
  for (size_t i = 0; i < rank; ++i) {
    // All factors are at most 2^31, so nothing here overflows.
    int64_t extent = (*dilations)[i] * (window[i] - 1) + 1;
    int64_t stride = (*strides)[i];
    if (mode == "VALID")
      result.begin[i] = result.end[i] = 0;
    if (same) {
      int64_t outputs = (in[i] + stride - 1) / stride;
      int64_t total =
          std::max<int64_t>((outputs - 1) * stride + extent - in[i], 0);
      result.begin[i] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
      result.end[i] = total - result.begin[i];
    }
    int64_t &end = result.end[i];
    result.countedEnd.push_back(end);
    int64_t room = in[i] + result.begin[i] + end - extent;
    if (n.flagAttr("ceil_mode") && !same && room >= 0) {
      int64_t outputs = (room + stride - 1) / stride + 1;
      // A window that would start beyond the input and its begin padding goes.
      if ((outputs - 1) * stride >= in[i] + result.begin[i])
        --outputs;
      end = std::max<int64_t>(
          (outputs - 1) * stride + extent - in[i] - result.begin[i], 0);
      result.countedEnd[i] = std::min(result.countedEnd[i], end);
    }
  }
  return result;
}

} // namespace pascaline::importer
