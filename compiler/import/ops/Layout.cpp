// Layout.cpp - operators that move elements: their place changes, not their
// value.
#include "compiler/import/OpTable.h"
#include "compiler/import/Text.h"
#include "compiler/import/ops/Common.h"
#include "compiler/ir/Dialect.h"
#include "compiler/ir/Types.h"

using namespace mlir;

namespace pascaline::importer {
namespace {

LogicalResult importTranspose(NodeImporter &n) {
  int64_t rank = rankOf(n.input(0));
  Shape perm;
  if (auto given = n.intsAttr("perm")) {
    perm = *given;
  } else {
    for (int64_t axis = rank; axis-- > 0;)
      perm.push_back(axis);
  }
  if (static_cast<int64_t>(perm.size()) != rank)
    return n.invalid(cat("has perm=", listText(perm), " for ",
                         typeText(n.input(0).getType())));
  return n.done(n.transpose(n.input(0), perm));
}

LogicalResult importConcat(NodeImporter &n) {
  llvm::SmallVector<Value> parts;
  for (unsigned i = 0; i < n.numInputs(); ++i) {
    if (!n.has(i))
      return n.invalid(cat("leaves input ", i, " out"));
    parts.push_back(n.input(i));
  }
  auto axis = n.axis(n.intAttr("axis", 1), rankOf(parts[0]));
  if (!axis)
    return failure();
  return n.done(parts.size() == 1 ? parts[0] : n.concat(parts, *axis));
}

LogicalResult importSplit(NodeImporter &n) {
  Value x = n.input(0);
  auto axis = n.axis(n.intAttr("axis", 0), rankOf(x));
  if (!axis)
    return failure();
  int64_t size = shapeOf(x)[*axis];
  auto parts = static_cast<int64_t>(n.numOutputs());
  std::optional<Shape> sizes;
  if (n.has(1))
    sizes = n.constantInput(1, "its parts' sizes");
  else
    sizes = n.intsAttr("split");
  if (n.failed())
    return failure();
  if (sizes && n.hasAttr("num_outputs"))
    return n.invalid("has both num_outputs and its parts' sizes");
  if (!sizes) {
    if (int64_t count = n.intAttr("num_outputs", parts);
        count != parts || count < 1)
      return n.invalid(
          cat("has num_outputs=", count, " and ", parts, " outputs"));
    if (size % parts && n.opset < 18)
      return n.invalid(
          cat("cannot split ", size, " elements into ", parts, " equal parts"));
    // From opset 18 on the last part may be smaller.
    int64_t chunk = (size + parts - 1) / parts;
    sizes = Shape(parts, chunk);
    sizes->back() = size - chunk * (parts - 1);
  }
  int64_t sum = 0;
  bool fits = static_cast<int64_t>(sizes->size()) == parts;
  for (int64_t part : *sizes) {
    fits &= part >= 0 && part <= size;
    sum += fits ? part : 0;
  }
  if (!fits || sum != size)
    return n.invalid(cat("splits ", size, " elements into parts of ",
                         listText(*sizes), " for ", parts, " outputs"));
  int64_t start = 0;
  for (auto [i, part] : llvm::enumerate(*sizes)) {
    if (n.wants(i))
      n.setResult(i, n.sliceAxis(x, *axis, start, part));
    start += part;
  }
  return n.status();
}

struct SliceBounds {
  Shape starts, ends, axes, steps;
};

std::optional<SliceBounds> readSlice(NodeImporter &n) {
  SliceBounds b;
  if (n.opset < 10) {
    b.starts = *n.intsAttr("starts");
    b.ends = *n.intsAttr("ends");
    b.axes = n.intsAttr("axes").value_or(
        axesFrom(0, static_cast<int64_t>(b.starts.size())));
    b.steps = Shape(b.starts.size(), 1);
    return b;
  }
  auto starts = n.constantInput(1, "its starts");
  auto ends = n.constantInput(2, "its ends");
  if (n.failed())
    return std::nullopt;
  b.starts = *starts;
  b.ends = *ends;
  auto axes = n.constantInput(3, "its axes");
  auto steps = n.constantInput(4, "its steps");
  if (n.failed())
    return std::nullopt;
  b.axes = axes.value_or(axesFrom(0, static_cast<int64_t>(b.starts.size())));
  b.steps = steps.value_or(Shape(b.starts.size(), 1));
  return b;
}

LogicalResult importSlice(NodeImporter &n) {
  Value x = n.input(0);
  std::optional<SliceBounds> b = readSlice(n);
  if (!b)
    return failure();
  size_t count = b->starts.size();
  if (b->ends.size() != count || b->axes.size() != count ||
      b->steps.size() != count)
    return n.invalid(cat("has ", count, " starts, ", b->ends.size(), " ends, ",
                         b->axes.size(), " axes and ", b->steps.size(),
                         " steps"));
  auto axes = n.axes(b->axes, rankOf(x));
  if (!axes)
    return failure();
  Shape starts(rankOf(x), 0), steps(rankOf(x), 1), sizes(shapeOf(x));
  for (auto [i, axis] : llvm::enumerate(*axes)) {
    int64_t size = sizes[axis];
    // Beyond the largest size a longer step reaches nothing more.
    constexpr int64_t kFar = int64_t(1) << 31;
    int64_t step = std::clamp(b->steps[i], -kFar, kFar);
    if (step == 0)
      return n.invalid(cat("has step 0 on axis ", axis));
    auto place = [&](int64_t at) {
      if (at < 0)
        at += size;
      return step > 0 ? std::clamp<int64_t>(at, 0, size)
                      : std::clamp<int64_t>(at, -1, size - 1);
    };
    int64_t start = place(b->starts[i]), end = place(b->ends[i]);
    // A start before the first element is the first element.
    start = std::max<int64_t>(start, 0);
    int64_t span = step > 0 ? end - start : start - end;
    sizes[axis] =
        size == 0 || span <= 0 ? 0 : (span - 1) / (step > 0 ? step : -step) + 1;
    starts[axis] = sizes[axis] ? start : 0;
    steps[axis] = sizes[axis] > 1 ? step : 1;
  }
  return n.done(n.slice(x, starts, steps, sizes));
}

std::optional<PadMode> padMode(NodeImporter &n) {
  StringRef name = n.stringAttr("mode", "constant");
  if (name == "constant" || name == "reflect" || name == "edge" ||
      (name == "wrap" && n.opset >= 19))
    return symbolizePadMode(name);
  (void)n.invalid("has mode=" + quoted(name) +
                  "; it is constant, reflect, edge or, from opset 19 on, wrap");
  return std::nullopt;
}

LogicalResult importPad(NodeImporter &n) {
  Value x = n.input(0), fill;
  int64_t rank = rankOf(x);
  std::optional<PadMode> mode = padMode(n);
  std::optional<Shape> pads;
  if (n.opset < 11) {
    pads = n.intsAttr(n.opset < 2 ? "paddings" : "pads");
    fill = n.scalarLike(n.floatAttr("value", 0), x);
  } else {
    pads = n.constantInput(1, "its pads");
    fill = n.has(2) ? n.input(2) : n.scalarLike(0, x);
  }
  std::optional<Shape> axes = axesFrom(0, rank);
  if (n.has(3)) {
    axes = n.constantInput(3, "its axes");
    if (axes)
      axes = n.axes(*axes, rank);
  }
  if (!mode || !pads || !axes || n.failed())
    return failure();
  size_t count = axes->size();
  if (pads->size() != 2 * count)
    return n.invalid(cat("has pads ", listText(*pads), " for ", count,
                         " axes of ", typeText(x.getType())));
  if (elementCount(shapeOf(fill)) != 1 || elementOf(fill) != elementOf(x))
    return n.invalid(cat("pads ", typeText(x.getType()), " with ",
                         typeText(fill.getType())));

  // A negative pad cuts elements off, before anything is added.
  Shape low(rank, 0), high(rank, 0);
  for (size_t i = 0; i < count; ++i) {
    int64_t axis = (*axes)[i], before = (*pads)[i], after = (*pads)[i + count];
    constexpr int64_t kMost = int64_t(1) << 31;
    if (before < -kMost || before > kMost || after < -kMost || after > kMost)
      return n.invalid(cat("has pads ", listText(*pads),
                           ", larger than the limit of ", kMost));
    int64_t cutLow = std::max<int64_t>(-before, 0);
    int64_t cutHigh = std::max<int64_t>(-after, 0);
    int64_t rest = shapeOf(x)[axis] - cutLow - cutHigh;
    if (rest < 0)
      return n.invalid(cat("has pads ", listText(*pads), " that cut more than ",
                           shapeOf(x)[axis], " elements off axis ", axis));
    x = n.sliceAxis(x, axis, cutLow, rest);
    low[axis] = std::max<int64_t>(before, 0);
    high[axis] = std::max<int64_t>(after, 0);
    if (n.failed())
      return failure();
  }
  Shape padded(shapeOf(x));
  bool adds = false;
  for (int64_t axis = 0; axis < rank; ++axis) {
    padded[axis] += low[axis] + high[axis];
    adds |= low[axis] || high[axis];
  }
  if (!adds)
    return n.done(x);
  if (!n.checkSize(padded))
    return failure();
  return n.done(n.create<PadOp>(*mode, x, n.reshape(fill, {}), low, high));
}

struct Blocks {
  int64_t size;
  bool columnsFirst; // CRD: the channel comes before the place in the block
};

std::optional<Blocks> readBlocks(NodeImporter &n) {
  Blocks blocks{n.intAttr("blocksize", 0), false};
  StringRef mode = n.stringAttr("mode", "DCR");
  blocks.columnsFirst = mode == "CRD";
  if (rankOf(n.input(0)) == 4 && blocks.size >= 1 && blocks.size <= (1 << 15) &&
      (mode == "DCR" || mode == "CRD"))
    return blocks;
  (void)n.invalid(cat("takes [n, c, h, w] and a block of at least 1 in mode "
                      "DCR or CRD, not ",
                      typeText(n.input(0).getType()), ", ", blocks.size,
                      " and ", printable(mode)));
  return std::nullopt;
}

LogicalResult importDepthToSpace(NodeImporter &n) {
  auto blocks = readBlocks(n);
  if (!blocks)
    return failure();
  ArrayRef<int64_t> s = shapeOf(n.input(0));
  int64_t b = blocks->size, c = s[1] / (b * b);
  if (s[1] % (b * b))
    return n.invalid(
        cat("cannot divide ", s[1], " channels into blocks of ", b, "x", b));
  Shape split = blocks->columnsFirst ? Shape{s[0], c, b, b, s[2], s[3]}
                                     : Shape{s[0], b, b, c, s[2], s[3]};
  Shape perm =
      blocks->columnsFirst ? Shape{0, 1, 4, 2, 5, 3} : Shape{0, 3, 4, 1, 5, 2};
  Value y = n.transpose(n.reshape(n.input(0), split), perm);
  return n.done(n.reshape(y, {s[0], c, s[2] * b, s[3] * b}));
}

LogicalResult importSpaceToDepth(NodeImporter &n) {
  auto blocks = readBlocks(n);
  if (!blocks)
    return failure();
  ArrayRef<int64_t> s = shapeOf(n.input(0));
  int64_t b = blocks->size;
  if (s[2] % b || s[3] % b)
    return n.invalid(cat("cannot divide ", typeText(n.input(0).getType()),
                         " into blocks of ", b, "x", b));
  Shape split{s[0], s[1], s[2] / b, b, s[3] / b, b};
  Shape perm =
      blocks->columnsFirst ? Shape{0, 1, 3, 5, 2, 4} : Shape{0, 3, 5, 1, 2, 4};
  Value y = n.transpose(n.reshape(n.input(0), split), perm);
  return n.done(n.reshape(y, {s[0], s[1] * b * b, s[2] / b, s[3] / b}));
}

constexpr Arity kOne{1, 1}, kSome{1, kAny};

const OpRow kRows[] = {
    {"Transpose", 1, kOne, kOne, "perm=I", importTranspose},
    {"Concat", 1, kSome, kOne, "axis=i", importConcat},
    {"Concat", 4, kSome, kOne, "axis=i!", importConcat},
    {"Split", 1, {1, 2}, kSome, "axis=i split=I", importSplit},
    {"Split", 2, kOne, kSome, "axis=i split=I", importSplit},
    {"Split", 13, {1, 2}, kSome, "axis=i", importSplit},
    {"Split", 18, {1, 2}, kSome, "axis=i num_outputs=i", importSplit},
    {"Slice", 1, kOne, kOne, "axes=I ends=I! starts=I!", importSlice},
    {"Slice", 10, {3, 5}, kOne, "", importSlice},
    {"Pad", 1, kOne, kOne, "mode=s paddings=I! value=f", importPad},
    {"Pad", 2, kOne, kOne, "mode=s pads=I! value=f", importPad},
    {"Pad", 11, {2, 3}, kOne, "mode=s", importPad},
    {"Pad", 18, {2, 4}, kOne, "mode=s", importPad},
    {"DepthToSpace", 1, kOne, kOne, "blocksize=i!", importDepthToSpace},
    {"DepthToSpace", 11, kOne, kOne, "blocksize=i! mode=s", importDepthToSpace},
    {"SpaceToDepth", 1, kOne, kOne, "blocksize=i!", importSpaceToDepth},
    {"SpaceToDepth", 28, kOne, kOne, "blocksize=i! mode=s", importSpaceToDepth},
};

} // namespace

ArrayRef<OpRow> layoutRows() { return kRows; }

} // namespace pascaline::importer
