// Convolution.cpp - Conv and ConvTranspose.
#include "compiler/import/OpTable.h"
#include "compiler/import/Text.h"
#include "compiler/import/ops/Common.h"
#include "compiler/ir/Dialect.h"
#include "compiler/ir/Types.h"

using namespace mlir;

namespace pascaline::importer {

Value alongChannels(NodeImporter &n, Value vector, int64_t rank) {
  if (n.failed())
    return {};
  Shape shape(shapeOf(vector));
  shape.resize(std::max<int64_t>(rank - 1, 1), 1);
  return n.reshape(vector, shape);
}

namespace {

struct ConvOperands {
  Value x, w, bias;
  int64_t spatial, groups;
};

// What both convolutions ask of their operands. The filters of a transposed
// one are [c, m / groups, ...].
std::optional<ConvOperands> checkOperands(NodeImporter &n, bool transposed) {
  ConvOperands o{n.input(0), n.input(1), n.input(2), 0, n.intAttr("group", 1)};
  std::string types =
      typeText(o.x.getType()) + " with filters " + typeText(o.w.getType());
  auto refuse = [&](const std::string &text) {
    (void)n.invalid(text);
    return std::nullopt;
  };
  o.spatial = rankOf(o.x) - 2;
  if (o.spatial < 1 || rankOf(o.w) != rankOf(o.x))
    return refuse("takes operands of one rank, 3 or more, not " + types);
  if (o.spatial > 3) {
    (void)n.unsupported(
        cat("convolves over ", o.spatial, " dimensions; 1 to 3 are supported"));
    return std::nullopt;
  }
  if (!isFloat(o.x) || elementOf(o.x) != elementOf(o.w))
    return refuse("takes floats of one type, not " + types);
  int64_t channels = shapeOf(o.x)[1], filters = shapeOf(o.w)[0];
  if (o.groups < 1)
    return refuse(cat("has group=", o.groups, "; it is at least 1"));
  if (transposed ? channels != filters : channels / o.groups != shapeOf(o.w)[1])
    return refuse(cat("has filters that do not fit the input's channels: ",
                      types, " in ", o.groups, " groups"));
  if (channels % o.groups || filters % o.groups)
    return refuse(
        cat("cannot divide its channels into ", o.groups, " groups: ", types));
  if (std::optional<Shape> kernel = n.intsAttr("kernel_shape"))
    if (*kernel != Shape(shapeOf(o.w).drop_front(2)))
      return refuse(cat("has kernel_shape=", listText(*kernel),
                        ", which contradicts its filters ",
                        typeText(o.w.getType())));
  int64_t outputs = transposed ? shapeOf(o.w)[1] * o.groups : filters;
  if (o.bias && (shapeOf(o.bias) != ArrayRef<int64_t>(outputs) ||
                 elementOf(o.bias) != elementOf(o.x)))
    return refuse(cat("has bias ", typeText(o.bias.getType()), " where ",
                      outputs, " outputs take one value each"));
  return o;
}

Value addBias(NodeImporter &n, const ConvOperands &o, Value y) {
  return o.bias ? n.add(y, alongChannels(n, o.bias, rankOf(o.x))) : y;
}

LogicalResult importConv(NodeImporter &n) {
  std::optional<ConvOperands> o = checkOperands(n, /*transposed=*/false);
  if (!o)
    return failure();
  auto windows = resolveWindows(n, shapeOf(o->x).drop_front(2),
                                shapeOf(o->w).drop_front(2));
  if (!windows)
    return failure();
  Value y = n.create<ConvOp>(o->x, o->w, windows->strides, windows->dilations,
                             windows->begin, windows->end, o->groups);
  return n.done(addBias(n, *o, y));
}

// x with stride - 1 zeros between neighbours along the spatial axes.
Value spread(NodeImporter &n, Value x, ArrayRef<int64_t> strides) {
  for (auto [i, stride] : llvm::enumerate(strides)) {
    int64_t axis = 2 + static_cast<int64_t>(i);
    if (n.failed() || stride == 1 || shapeOf(x)[axis] == 0)
      continue;
    int64_t size = shapeOf(x)[axis];
    Shape split(shapeOf(x)), joined(shapeOf(x));
    split.insert(split.begin() + axis + 1, 1);
    joined[axis] = size * stride;
    Shape low(split.size(), 0), high(split.size(), 0);
    high[axis + 1] = stride - 1;
    if (!n.checkSize(joined))
      return {};
    x = n.reshape(n.pad(n.reshape(x, split), low, high), joined);
    x = n.sliceAxis(x, axis, 0, (size - 1) * stride + 1);
  }
  return x;
}

// Filters [c, m / groups, window] as those of the equal convolution:
// [m, c / groups, window], reversed along the window.
Value turnFilters(NodeImporter &n, const ConvOperands &o) {
  Shape shape(shapeOf(o.w));
  int64_t rank = rankOf(o.w);
  Shape split{o.groups, shape[0] / o.groups, shape[1]};
  split.append(shape.begin() + 2, shape.end());
  Shape perm = axesFrom(0, rank + 1);
  std::swap(perm[1], perm[2]);
  Shape turned{shape[1] * o.groups, shape[0] / o.groups};
  turned.append(shape.begin() + 2, shape.end());
  Value w = n.reshape(n.transpose(n.reshape(o.w, split), perm), turned);
  Shape starts(rank, 0), steps(rank, 1);
  for (int64_t axis = 2; axis < rank; ++axis) {
    starts[axis] = turned[axis] - 1;
    steps[axis] = -1;
  }
  return n.slice(w, starts, steps, turned);
}

LogicalResult importConvTranspose(NodeImporter &n) {
  std::optional<ConvOperands> o = checkOperands(n, /*transposed=*/true);
  if (!o)
    return failure();
  ArrayRef<int64_t> in = shapeOf(o->x).drop_front(2);
  ArrayRef<int64_t> window = shapeOf(o->w).drop_front(2);
  auto windows = resolveWindows(n, in, window);
  if (!windows)
    return failure();
  Shape extra(o->spatial, 0);
  if (auto given = n.intsAttr("output_padding"))
    extra = *given;
  std::optional<Shape> sizes = n.intsAttr("output_shape");
  // Some exporters give the batch and channel sizes too.
  if (sizes && sizes->size() == extra.size() + 2)
    sizes->erase(sizes->begin(), sizes->begin() + 2);
  if (extra.size() != in.size() || (sizes && sizes->size() != in.size()))
    return n.invalid(cat("takes output_padding and output_shape with ",
                         in.size(), " values"));
  StringRef mode = n.stringAttr("auto_pad", "NOTSET");
  bool same = mode.starts_with("SAME");

  // The equal convolution runs over the spread input with stride 1 and pads of
  // extent - 1 less what is cut off; a negative pad is a slice.
  Shape low(o->spatial + 2, 0), high(o->spatial + 2, 0);
  for (int64_t i = 0; i < o->spatial; ++i) {
    int64_t extent = windows->dilations[i] * (window[i] - 1) + 1;
    int64_t stride = windows->strides[i];
    if (extra[i] < 0 || extra[i] >= std::max(stride, windows->dilations[i]))
      return n.invalid(cat("has output_padding=", listText(extra),
                           ", which takes 0 to less than the stride"));
    int64_t full = stride * (in[i] - 1) + extra[i] + extent;
    int64_t begin = windows->begin[i], end = windows->end[i];
    if (sizes || same) {
      int64_t wanted = sizes ? (*sizes)[i] : in[i] * stride;
      if (wanted < 1 || wanted > (int64_t(1) << 31))
        return n.invalid(cat("has output_shape=", listText(*sizes)));
      int64_t total = full - wanted;
      // What is wanted beyond the whole output is zero, at its end.
      int64_t cut = std::max<int64_t>(total, 0);
      begin = mode == "SAME_UPPER" ? cut / 2 : cut - cut / 2;
      end = total - begin;
    }
    low[i + 2] = extent - 1 - begin;
    high[i + 2] = extent - 1 + extra[i] - end;
  }

  Value x = spread(n, o->x, windows->strides);
  for (int64_t axis = 2; axis < o->spatial + 2 && !n.failed(); ++axis) {
    int64_t before = std::max<int64_t>(-low[axis], 0);
    int64_t after = std::max<int64_t>(-high[axis], 0);
    int64_t size = shapeOf(x)[axis] - before - after;
    if (size < 1)
      return n.invalid("has pads that leave nothing of its output");
    x = n.sliceAxis(x, axis, before, size);
    low[axis] = std::max<int64_t>(low[axis], 0);
    high[axis] = std::max<int64_t>(high[axis], 0);
  }
  Shape ones(o->spatial, 1);
  Value y = n.create<ConvOp>(x, turnFilters(n, *o), ones, windows->dilations,
                             ArrayRef<int64_t>(low).drop_front(2),
                             ArrayRef<int64_t>(high).drop_front(2), o->groups);
  return n.done(addBias(n, *o, y));
}

const OpRow kRows[] = {
    {"Conv",
     1,
     {2, 3},
     {1, 1},
     "auto_pad=s dilations=I group=i kernel_shape=I pads=I strides=I",
     importConv},
    {"ConvTranspose",
     1,
     {2, 3},
     {1, 1},
     "auto_pad=s dilations=I group=i kernel_shape=I output_padding=I "
     "output_shape=I pads=I strides=I",
     importConvTranspose},
};

} // namespace

ArrayRef<OpRow> convolutionRows() { return kRows; }

} // namespace pascaline::importer
