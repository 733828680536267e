// Shape.cpp - operators about shapes and types that touch no value.
#include "compiler/import/OpTable.h"
#include "compiler/import/Text.h"
#include "compiler/import/ops/Common.h"
#include "compiler/ir/Constants.h"
#include "compiler/ir/Dialect.h"
#include "compiler/ir/Types.h"

using namespace mlir;

namespace pascaline::importer {
namespace {

LogicalResult importIdentity(NodeImporter &n) { return n.done(n.input(0)); }

LogicalResult importShape(NodeImporter &n) {
  ArrayRef<int64_t> shape = shapeOf(n.input(0));
  int64_t rank = static_cast<int64_t>(shape.size());
  auto place = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  int64_t start = place(n.intAttr("start", 0));
  int64_t end = std::max(start, place(n.intAttr("end", rank)));
  return n.done(n.integers(shape.slice(start, end - start), {end - start}));
}

LogicalResult importSize(NodeImporter &n) {
  return n.done(n.integers({*elementCount(shapeOf(n.input(0)))}, {}));
}

LogicalResult importReshape(NodeImporter &n) {
  Value x = n.input(0);
  std::optional<Shape> target =
      n.opset < 5 ? n.intsAttr("shape") : n.constantInput(1, "its shape");
  if (!target)
    return n.invalid("lacks the attribute \"shape\"");
  ArrayRef<int64_t> from = shapeOf(x);
  Shape shape;
  int64_t known = 1, open = -1;
  auto refuse = [&] {
    return n.invalid(cat("cannot make shape ", listText(*target), " of the ",
                         *elementCount(from), " elements of ",
                         typeText(x.getType())));
  };
  for (auto [i, dim] : llvm::enumerate(*target)) {
    if (dim == 0 && !n.flagAttr("allowzero")) {
      if (i >= from.size())
        return refuse();
      dim = from[i];
    }
    if (dim < -1 || (dim == -1 && open >= 0))
      return refuse();
    if (dim == -1)
      open = static_cast<int64_t>(i);
    else if (auto product = checkedProduct(known, dim))
      known = *product;
    else
      return refuse();
    shape.push_back(dim);
  }
  int64_t count = *elementCount(from);
  if (open >= 0) {
    // With a 0 beside it, -1 could be anything.
    if (known == 0 || count % known)
      return refuse();
    shape[open] = count / known;
    known *= shape[open];
  }
  if (known != count)
    return refuse();
  return n.done(n.reshape(x, shape));
}

LogicalResult importFlatten(NodeImporter &n) {
  ArrayRef<int64_t> shape = shapeOf(n.input(0));
  int64_t rank = static_cast<int64_t>(shape.size());
  int64_t axis = n.intAttr("axis", 1);
  if (axis < -rank || axis > rank)
    return n.invalid(cat("has axis ", axis, ", outside ", -rank, " to ", rank));
  if (axis < 0)
    axis += rank;
  Shape matrix{1, 1};
  for (int64_t i = 0; i < rank; ++i)
    matrix[i >= axis] *= shape[i];
  return n.done(n.reshape(n.input(0), matrix));
}

// Axes as an attribute, or as input 1 from opset 13 on; nothing when absent.
bool readAxes(NodeImporter &n, std::optional<Shape> &axes) {
  if (n.opset < 13)
    axes = n.intsAttr("axes");
  else if (n.has(1))
    axes = n.constantInput(1, "its axes");
  return !n.failed();
}

LogicalResult importSqueeze(NodeImporter &n) {
  Value x = n.input(0);
  std::optional<Shape> given;
  if (!readAxes(n, given))
    return failure();
  if (given && !(given = n.axes(*given, rankOf(x))))
    return failure();
  Shape shape;
  for (auto [i, dim] : llvm::enumerate(shapeOf(x))) {
    bool named = given && llvm::is_contained(*given, static_cast<int64_t>(i));
    if (named && dim != 1)
      return n.invalid(cat("squeezes axis ", i, " of ", typeText(x.getType()),
                           ", which is ", dim, " and not 1"));
    if (given ? !named : dim != 1)
      shape.push_back(dim);
  }
  return n.done(n.reshape(x, shape));
}

LogicalResult importUnsqueeze(NodeImporter &n) {
  Value x = n.input(0);
  std::optional<Shape> given;
  if (!readAxes(n, given))
    return failure();
  int64_t rank = rankOf(x) + static_cast<int64_t>(given->size());
  if (!(given = n.axes(*given, rank)))
    return failure();
  Shape shape;
  ArrayRef<int64_t> rest = shapeOf(x);
  for (int64_t i = 0; i < rank; ++i) {
    if (llvm::is_contained(*given, i)) {
      shape.push_back(1);
      continue;
    }
    shape.push_back(rest.front());
    rest = rest.drop_front();
  }
  return n.done(n.reshape(x, shape));
}

LogicalResult importExpand(NodeImporter &n) {
  std::optional<Shape> target = n.constantInput(1, "its shape");
  if (!target)
    return failure();
  ArrayRef<int64_t> from = shapeOf(n.input(0));
  bool negative = llvm::any_of(*target, [](int64_t d) { return d < 0; });
  std::optional<Shape> shape;
  if (!negative)
    shape = broadcastShapes(from, *target);
  if (!shape)
    return n.invalid(cat("cannot expand ", typeText(n.input(0).getType()),
                         " to ", listText(*target)));
  return n.done(n.broadcast(n.input(0), *shape));
}

LogicalResult importTile(NodeImporter &n) {
  Value x = n.input(0);
  std::optional<Shape> repeats = n.constantInput(1, "its repeats");
  if (!repeats)
    return failure();
  if (n.opset < 6) {
    // (input, tiles, axis) at first.
    std::optional<Shape> axis = n.constantInput(2, "its axis");
    if (!axis)
      return failure();
    if (repeats->size() != 1 || axis->size() != 1)
      return n.invalid("takes its tiles and axis as one number each");
    auto place = n.axis(axis->front(), rankOf(x));
    if (!place)
      return failure();
    int64_t count = repeats->front();
    repeats = Shape(rankOf(x), 1);
    (*repeats)[*place] = count;
  }
  if (static_cast<int64_t>(repeats->size()) != rankOf(x))
    return n.invalid(cat("has repeats ", listText(*repeats), " for ",
                         typeText(x.getType())));
  // [a, b] repeated is [ra, a, rb, b] broadcast from [1, a, 1, b].
  Shape split, wide, tiled;
  for (auto [dim, count] : llvm::zip(shapeOf(x), *repeats)) {
    std::optional<int64_t> product = checkedProduct(dim, count);
    if (count < 0 || !product)
      return n.invalid(cat("has repeats ", listText(*repeats), " for ",
                           typeText(x.getType()),
                           ", which make a tensor larger than the limit"));
    if (count != 1) {
      split.push_back(1);
      wide.push_back(count);
    }
    split.push_back(dim);
    wide.push_back(dim);
    tiled.push_back(*product);
  }
  if (!n.checkSize(tiled) || !n.checkSize(wide))
    return failure();
  return n.done(n.reshape(n.broadcast(n.reshape(x, split), wide), tiled));
}

LogicalResult importCast(NodeImporter &n) {
  int64_t to = n.intAttr("to", 0);
  if (n.opset < 6) {
    // The type's name at first.
    static const char *const names[] = {
        "UNDEFINED", "FLOAT",  "UINT8",  "INT8",   "UINT16",
        "INT16",     "INT32",  "INT64",  "STRING", "BOOL",
        "FLOAT16",   "DOUBLE", "UINT32", "UINT64"};
    auto it = llvm::find(names, n.stringAttr("to", ""));
    to = it == std::end(names) ? 0 : it - std::begin(names);
  }
  int32_t number = to >= 0 && to <= INT32_MAX ? static_cast<int32_t>(to) : 0;
  Type element = elementType(n.builder.getContext(), number);
  if (element)
    return n.done(n.castTo(n.input(0), element));
  if (number == 0 || number > 28)
    return n.invalid(cat("casts to type ", to, ", which does not exist"));
  return n.unsupported("casts to " + elementTypeName(number));
}

LogicalResult importCastLike(NodeImporter &n) {
  return n.done(n.castTo(n.input(0), elementOf(n.input(1))));
}

LogicalResult importDropout(NodeImporter &n) {
  if (n.has(2)) {
    std::optional<int64_t> training;
    if (ElementsAttr value = constantValue(n.input(2)))
      if (auto bytes = pascaline::elementBytes(value); bytes && !bytes->empty())
        training = bytes->front();
    if (!training || *training)
      return n.unsupported("drops at random (training mode); export for "
                           "inference");
  }
  // Nothing is dropped, so the mask is all true, in x's type before opset 10.
  if (n.wants(1))
    n.setResult(1, n.splat(1,
                           n.opset < 10 ? elementOf(n.input(0))
                                        : Type(n.builder.getI1Type()),
                           shapeOf(n.input(0))));
  return n.done(n.input(0));
}

constexpr Arity kOne{1, 1}, kTwo{2, 2};

const OpRow kRows[] = {
    {"Identity", 1, kOne, kOne, "", importIdentity},
    {"Shape", 1, kOne, kOne, "", importShape},
    {"Shape", 15, kOne, kOne, "start=i end=i", importShape},
    {"Size", 1, kOne, kOne, "", importSize},
    {"Reshape", 1, kOne, kOne, "consumed_inputs=I shape=I", importReshape},
    {"Reshape", 5, kTwo, kOne, "", importReshape},
    {"Reshape", 14, kTwo, kOne, "allowzero=i", importReshape},
    {"Flatten", 1, kOne, kOne, "axis=i", importFlatten},
    {"Squeeze", 1, kOne, kOne, "axes=I", importSqueeze},
    {"Squeeze", 13, {1, 2}, kOne, "", importSqueeze},
    {"Unsqueeze", 1, kOne, kOne, "axes=I!", importUnsqueeze},
    {"Unsqueeze", 13, kTwo, kOne, "", importUnsqueeze},
    {"Expand", 8, kTwo, kOne, "", importExpand},
    {"Tile", 1, {3, 3}, kOne, "", importTile},
    {"Tile", 6, kTwo, kOne, "", importTile},
    {"Cast", 1, kOne, kOne, "to=s!", importCast},
    {"Cast", 6, kOne, kOne, "to=i!", importCast},
    {"Cast", 19, kOne, kOne, "to=i! saturate=i round_mode=s", importCast},
    {"CastLike", 15, kTwo, kOne, "saturate=i round_mode=s", importCastLike},
    {"Dropout",
     1,
     kOne,
     {1, 2},
     "consumed_inputs=I is_test=i ratio=f",
     importDropout},
    {"Dropout", 7, kOne, {1, 2}, "ratio=f", importDropout},
    {"Dropout", 12, {1, 3}, {1, 2}, "seed=i", importDropout},
};

} // namespace

ArrayRef<OpRow> shapeRows() { return kRows; }

} // namespace pascaline::importer
