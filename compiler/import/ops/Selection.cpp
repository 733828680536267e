// Selection.cpp - operators that choose elements by index or by size.
#include "compiler/import/OpTable.h"
#include "compiler/import/Text.h"
#include "compiler/import/ops/Common.h"
#include "compiler/ir/Constants.h"
#include "compiler/ir/Dialect.h"
#include "compiler/ir/Types.h"

using namespace mlir;

namespace pascaline::importer {
namespace {

LogicalResult importGather(NodeImporter &n) {
  Value x = n.input(0), indices = n.input(1);
  auto axis = n.axis(n.intAttr("axis", 0), rankOf(x));
  if (!axis)
    return failure();
  int64_t size = shapeOf(x)[*axis];
  if (size == 0 && elementCount(shapeOf(indices)) != 0)
    return n.invalid(cat("takes elements of axis ", *axis, " of ",
                         typeText(x.getType()), ", which has none"));
  if (auto values = integerValues(indices))
    for (int64_t value : *values)
      if (value < -size || value >= size)
        return n.invalid(cat("has index ", value, ", out of range for axis ",
                             *axis, " of ", typeText(x.getType())));
  return n.done(n.gather(x, indices, *axis));
}

// A constant scalar of any number type.
std::optional<double> constantNumber(NodeImporter &n, unsigned i,
                                     StringRef what) {
  if (auto values = integerValues(n.input(i)); values && values->size() == 1)
    return static_cast<double>(values->front());
  if (elementCount(shapeOf(n.input(i))) == 1)
    if (auto value = splatFloat(n.input(i)))
      return value;
  (void)n.unsupported(cat("takes ", what, " as a constant scalar only"));
  return std::nullopt;
}

LogicalResult importOneHot(NodeImporter &n) {
  Value indices = n.input(0), values = n.input(2);
  auto depth = constantNumber(n, 1, "its depth");
  int64_t rank = rankOf(indices);
  auto axis = n.axis(n.intAttr("axis", -1), rank + 1);
  if (!depth || !axis)
    return failure();
  if (!(*depth >= 1 && *depth <= INT32_MAX))
    return n.invalid(cat("has depth ", *depth));
  if (shapeOf(values) != ArrayRef<int64_t>(2))
    return n.invalid(
        cat("takes two values, off and on, not ", typeText(values.getType())));
  auto count = static_cast<int64_t>(*depth);
  Shape shape(shapeOf(indices));
  shape.insert(shape.begin() + *axis, 1);
  Value index = n.reshape(n.castTo(indices, n.builder.getI64Type()), shape);
  Value below =
      n.create<CompareOp>(ComparePredicate::lt, index, n.scalarLike(0, index));
  index = n.select(below, n.add(index, n.scalarLike(*depth, index)), index);
  Value places = n.iota(count, *axis, rank + 1, n.builder.getI64Type());
  Value hot = n.create<CompareOp>(ComparePredicate::eq, index, places);
  Value off = n.reshape(n.sliceAxis(values, 0, 0, 1), {});
  Value on = n.reshape(n.sliceAxis(values, 0, 1, 1), {});
  return n.done(n.select(hot, on, off));
}

// column - row compared with k, as [rows, columns].
Value compareDiagonal(NodeImporter &n, ComparePredicate predicate, int64_t rows,
                      int64_t columns, int64_t k) {
  Type i64 = n.builder.getI64Type();
  // Beyond the matrix one diagonal is as good as another.
  constexpr int64_t kFar = int64_t(1) << 32;
  k = std::clamp(k, -kFar, kFar);
  Value row = n.iota(rows, 0, 2, i64), column = n.iota(columns, 1, 2, i64);
  if (n.failed())
    return {};
  return n.create<CompareOp>(predicate, column,
                             n.add(row, n.integers(ArrayRef<int64_t>(k), {})));
}

LogicalResult importTrilu(NodeImporter &n) {
  Value x = n.input(0);
  int64_t k = 0, rank = rankOf(x);
  if (n.has(1)) {
    auto given = n.constantInput(1, "its diagonal");
    if (!given)
      return failure();
    if (given->size() != 1)
      return n.invalid("takes its diagonal as one number");
    k = given->front();
  }
  if (rank < 2)
    return n.invalid("takes matrices, not " + typeText(x.getType()));
  Value kept = compareDiagonal(n,
                               n.flagAttr("upper", true) ? ComparePredicate::ge
                                                         : ComparePredicate::le,
                               shapeOf(x)[rank - 2], shapeOf(x)[rank - 1], k);
  return n.done(n.select(kept, x, n.scalarLike(0, x)));
}

LogicalResult importEyeLike(NodeImporter &n) {
  Value like = n.input(0);
  Type element = elementOf(like);
  if (n.hasAttr("dtype")) {
    auto type = static_cast<int32_t>(n.intAttr("dtype", 0));
    element = elementType(n.builder.getContext(), type);
    if (!element)
      return n.unsupported("makes " + elementTypeName(type));
  }
  if (rankOf(like) != 2)
    return n.invalid("takes a matrix, not " + typeText(like.getType()));
  Value one = compareDiagonal(n, ComparePredicate::eq, shapeOf(like)[0],
                              shapeOf(like)[1], n.intAttr("k", 0));
  return n.done(n.castTo(one, element));
}

// The index, in i32, of the first or last extreme element along an axis, which
// stays as 1. A NaN is an extreme, as in numpy.
Value argExtreme(NodeImporter &n, Value x, int64_t axis, ReduceKind kind,
                 bool last) {
  int64_t size = shapeOf(x)[axis];
  Value best = n.create<ReduceOp>(kind, x, ArrayRef<int64_t>(axis));
  Value hit = n.create<CompareOp>(ComparePredicate::eq, x, best);
  if (isFloat(x))
    hit = n.create<OrOp>(hit, n.create<IsNanOp>(x));
  Value places = n.iota(size, axis, rankOf(x), n.builder.getI32Type());
  Value miss = n.scalarLike(last ? -1 : static_cast<double>(size), places);
  return n.create<ReduceOp>(last ? ReduceKind::max : ReduceKind::min,
                            n.select(hit, places, miss),
                            ArrayRef<int64_t>(axis));
}

template <ReduceKind kind> LogicalResult importArg(NodeImporter &n) {
  Value x = n.input(0);
  auto axis = n.axis(n.intAttr("axis", 0), rankOf(x));
  if (!axis)
    return failure();
  if (shapeOf(x)[*axis] == 0)
    return n.invalid("takes the extreme of no elements: " +
                     typeText(x.getType()));
  Value y =
      n.castTo(argExtreme(n, x, *axis, kind, n.flagAttr("select_last_index")),
               n.builder.getI64Type());
  if (n.failed() || n.flagAttr("keepdims", true))
    return n.done(y);
  Shape shape(shapeOf(y));
  shape.erase(shape.begin() + *axis);
  return n.done(n.reshape(y, shape));
}

// Before opset 13 the dimensions from `axis` on were one, as in Softmax.
LogicalResult importHardmax(NodeImporter &n) {
  Value x = n.input(0);
  bool flattens = n.opset < 13;
  auto axis = n.axis(n.intAttr("axis", flattens ? 1 : -1), rankOf(x));
  if (!axis)
    return failure();
  Shape shape(shapeOf(x)), matrix{1, 1};
  if (flattens) {
    for (auto [i, dim] : llvm::enumerate(shape))
      matrix[static_cast<int64_t>(i) >= *axis] *= dim;
    x = n.reshape(x, matrix);
    axis = 1;
  }
  if (n.failed())
    return failure();
  Value first = argExtreme(n, x, *axis, ReduceKind::max, false);
  Value places =
      n.iota(shapeOf(x)[*axis], *axis, rankOf(x), n.builder.getI32Type());
  Value hot = n.create<CompareOp>(ComparePredicate::eq, places, first);
  return n.done(n.reshape(n.narrow(hot, x), shape));
}

constexpr Arity kOne{1, 1}, kTwo{2, 2}, kThree{3, 3};

const OpRow kRows[] = {
    {"Gather", 1, kTwo, kOne, "axis=i", importGather},
    {"OneHot", 9, kThree, kOne, "axis=i", importOneHot},
    {"Trilu", 14, {1, 2}, kOne, "upper=i", importTrilu},
    {"EyeLike", 9, kOne, kOne, "dtype=i k=i", importEyeLike},
    {"ArgMax", 1, kOne, kOne, "axis=i keepdims=i", importArg<ReduceKind::max>},
    {"ArgMax", 12, kOne, kOne, "axis=i keepdims=i select_last_index=i",
     importArg<ReduceKind::max>},
    {"ArgMin", 1, kOne, kOne, "axis=i keepdims=i", importArg<ReduceKind::min>},
    {"ArgMin", 12, kOne, kOne, "axis=i keepdims=i select_last_index=i",
     importArg<ReduceKind::min>},
    {"Hardmax", 1, kOne, kOne, "axis=i", importHardmax},
};

} // namespace

ArrayRef<OpRow> selectionRows() { return kRows; }

} // namespace pascaline::importer
