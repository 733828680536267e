// Indexing.cpp - operators that compute places: gathers by tuple or by element,
// running sums.
#include "compiler/import/OpTable.h"
#include "compiler/import/Text.h"
#include "compiler/import/ops/Common.h"
#include "compiler/ir/Dialect.h"
#include "compiler/ir/Types.h"

using namespace mlir;

namespace pascaline::importer {
namespace {

// Indices of a dimension as places in it: from the end where negative, at the
// nearest end where out of range (the result is undefined, but must be read
// inside this dimension).
Value places(NodeImporter &n, Value indices, int64_t size) {
  Value below = n.create<CompareOp>(ComparePredicate::lt, indices,
                                    n.scalarLike(0, indices));
  Value counted = n.select(
      below, n.add(indices, n.scalarLike(static_cast<double>(size), indices)),
      indices);
  Value last = n.scalarLike(static_cast<double>(size - 1), indices);
  return n.max(n.min(counted, last), n.scalarLike(0, indices));
}

Value times(NodeImporter &n, Value x, int64_t factor) {
  return factor == 1 ? x
                     : n.mul(x, n.scalarLike(static_cast<double>(factor), x));
}

LogicalResult checkIndices(NodeImporter &n) {
  Type element = elementOf(n.input(1));
  if (element.isInteger(32) || element.isInteger(64))
    return success();
  return n.invalid("takes indices as int32 or int64, not as " +
                   typeText(n.input(1).getType()));
}

// y[i, j] = x[indices[i, j], j]: one gather of x as a list, at places computed
// from the indices and the position.
LogicalResult importGatherElements(NodeImporter &n) {
  Value x = n.input(0), indices = n.input(1);
  int64_t rank = rankOf(x);
  auto axis = n.axis(n.intAttr("axis", 0), rank);
  if (!axis || failed(checkIndices(n)))
    return failure();
  ArrayRef<int64_t> from = shapeOf(x), to = shapeOf(indices);
  bool fits = rankOf(indices) == rank;
  for (int64_t i = 0; i < rank && fits; ++i)
    fits &=
        i == *axis ? from[i] > 0 || *elementCount(to) == 0 : to[i] <= from[i];
  if (!fits)
    return n.invalid(cat("takes ", typeText(indices.getType()),
                         " indices into ", typeText(x.getType())));
  Shape strides = rowMajorStrides(from);
  Value place = times(n, places(n, indices, from[*axis]), strides[*axis]);
  for (int64_t i = 0; i < rank; ++i)
    if (i != *axis && to[i] > 1)
      place = n.add(place, times(n, n.iota(to[i], i, rank, elementOf(indices)),
                                 strides[i]));
  Value list = n.reshape(x, {*elementCount(from)});
  return n.done(n.gather(list, place, 0));
}

LogicalResult importGatherND(NodeImporter &n) {
  Value x = n.input(0), indices = n.input(1);
  int64_t rank = rankOf(x), batch = n.intAttr("batch_dims", 0);
  if (failed(checkIndices(n)))
    return failure();
  ArrayRef<int64_t> from = shapeOf(x), at = shapeOf(indices);
  auto refuse = [&] {
    return n.invalid(cat("takes ", typeText(indices.getType()),
                         " indices with ", batch, " batch dimensions into ",
                         typeText(x.getType())));
  };
  if (rankOf(indices) < 1 || batch < 0 || batch >= rankOf(indices) ||
      batch > rank || from.take_front(batch) != at.take_front(batch))
    return refuse();
  int64_t depth = at.back();
  if (depth < 1 || batch + depth > rank)
    return refuse();
  int64_t indexed = batch + depth;
  for (int64_t dim : from.slice(batch, depth))
    if (dim == 0)
      return refuse();

  // The dimensions named by batch and tuple become one.
  Shape strides = rowMajorStrides(from.take_front(indexed));
  ArrayRef<int64_t> tuples = at.drop_back();
  int64_t tupleRank = static_cast<int64_t>(tuples.size());
  Value place;
  for (int64_t i = 0; i < depth; ++i) {
    Value index =
        n.reshape(n.sliceAxis(indices, rankOf(indices) - 1, i, 1), tuples);
    Value step =
        times(n, places(n, index, from[batch + i]), strides[batch + i]);
    place = place ? n.add(place, step) : step;
  }
  for (int64_t i = 0; i < batch; ++i)
    if (at[i] > 1)
      place =
          n.add(place, times(n, n.iota(at[i], i, tupleRank, elementOf(indices)),
                             strides[i]));
  Shape list{*elementCount(from.take_front(indexed))};
  list.append(from.begin() + indexed, from.end());
  return n.done(n.gather(n.reshape(x, list), place, 0));
}

// x moved towards higher indices by `by` along an axis, zeros moving in.
Value shifted(NodeImporter &n, Value x, int64_t axis, int64_t by) {
  if (n.failed())
    return {};
  int64_t size = shapeOf(x)[axis];
  Shape low(rankOf(x), 0), high(rankOf(x), 0);
  low[axis] = by;
  return n.pad(n.sliceAxis(x, axis, 0, size - by), low, high);
}

// A running sum by doubling: after step k an element holds the sum of 2^k.
LogicalResult importCumSum(NodeImporter &n) {
  Value x = n.input(0);
  auto given = n.constantInput(1, "its axis");
  if (!given)
    return failure();
  if (given->size() != 1)
    return n.invalid("takes its axis as one number");
  auto axis = n.axis(given->front(), rankOf(x));
  if (!axis)
    return failure();
  int64_t size = shapeOf(x)[*axis];
  if (size == 0)
    return n.done(x);
  bool reverse = n.flagAttr("reverse");
  auto flip = [&](Value value) {
    return reverse ? n.sliceAxis(value, *axis, size - 1, size, -1) : value;
  };
  Value y = flip(n.widen(x));
  if (n.flagAttr("exclusive"))
    y = shifted(n, y, *axis, 1);
  for (int64_t by = 1; by < size; by *= 2)
    y = n.add(y, shifted(n, y, *axis, by));
  return n.done(n.narrow(flip(y), x));
}

constexpr Arity kOne{1, 1}, kTwo{2, 2};

const OpRow kRows[] = {
    {"GatherElements", 11, kTwo, kOne, "axis=i", importGatherElements},
    {"GatherND", 11, kTwo, kOne, "", importGatherND},
    {"GatherND", 12, kTwo, kOne, "batch_dims=i", importGatherND},
    {"CumSum", 11, kTwo, kOne, "exclusive=i reverse=i", importCumSum},
};

} // namespace

ArrayRef<OpRow> indexingRows() { return kRows; }

} // namespace pascaline::importer
