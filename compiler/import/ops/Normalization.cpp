// Normalization.cpp - norms and softmax. Statistics are computed in f32 for
// narrower floats, and the variance from the differences to the mean.
#include "compiler/import/OpTable.h"
#include "compiler/import/Text.h"
#include "compiler/import/ops/Common.h"
#include "compiler/ir/Dialect.h"
#include "compiler/ir/Types.h"

using namespace mlir;

namespace pascaline::importer {
namespace {

Value inverseRoot(NodeImporter &n, Value variance, double epsilon) {
  Value shifted = n.add(variance, n.scalarLike(epsilon, variance));
  return n.create<ReciprocalOp>(n.create<SqrtOp>(shifted));
}

struct Normalized {
  Value y, mean, inverse;
};

// (x - mean) / sqrt(variance + epsilon) over axes.
Normalized standardize(NodeImporter &n, Value x, ArrayRef<int64_t> axes,
                       double epsilon) {
  Value mean = n.reduceMean(x, axes);
  Value offset = n.sub(x, mean);
  Value variance = n.reduceMean(n.mul(offset, offset), axes);
  Value inverse = inverseRoot(n, variance, epsilon);
  return {n.mul(offset, inverse), mean, inverse};
}

// A per-channel operand: `count` values in a vector.
LogicalResult checkVector(NodeImporter &n, unsigned i, StringRef name,
                          int64_t count) {
  if (shapeOf(n.input(i)) == ArrayRef<int64_t>(count))
    return success();
  return n.invalid(cat("has ", name, " ", typeText(n.input(i).getType()),
                       " where ", count, " channels take one value each"));
}

LogicalResult importBatchNormalization(NodeImporter &n) {
  Value x = n.input(0);
  if (n.flagAttr("training_mode") || (n.opset < 7 && !n.flagAttr("is_test")))
    return n.unsupported("normalizes by the batch's statistics (training "
                         "mode); export for inference");
  if (n.opset < 9 && !n.flagAttr("spatial", true))
    return n.unsupported("has spatial=0, statistics an element");
  if (rankOf(x) < 2)
    return n.invalid("takes [n, c, ...], not " + typeText(x.getType()));
  static const char *const names[] = {"", "scale", "bias", "mean", "variance"};
  for (unsigned i = 1; i < 5; ++i)
    if (failed(checkVector(n, i, names[i], shapeOf(x)[1])))
      return failure();
  // y = x scale' + shift, with both known when the parameters are constant.
  auto parameter = [&](unsigned i) { return n.widen(n.input(i)); };
  Value scale = n.mul(parameter(1), inverseRoot(n, parameter(4),
                                                n.floatAttr("epsilon", 1e-5f)));
  Value shift = n.sub(parameter(2), n.mul(parameter(3), scale));
  int64_t rank = rankOf(x);
  Value wide = n.widen(x);
  if (!n.failed()) {
    scale = n.castTo(scale, elementOf(wide));
    shift = n.castTo(shift, elementOf(wide));
  }
  Value y = n.add(n.mul(wide, alongChannels(n, scale, rank)),
                  alongChannels(n, shift, rank));
  return n.done(n.narrow(y, x));
}

LogicalResult importInstanceNormalization(NodeImporter &n) {
  Value x = n.input(0);
  if (rankOf(x) < 3)
    return n.invalid("takes [n, c, spatial...], not " + typeText(x.getType()));
  if (failed(checkVector(n, 1, "scale", shapeOf(x)[1])) ||
      failed(checkVector(n, 2, "bias", shapeOf(x)[1])))
    return failure();
  Normalized norm = standardize(n, n.widen(x), axesFrom(2, rankOf(x)),
                                n.floatAttr("epsilon", 1e-5f));
  Value scale = alongChannels(n, n.widen(n.input(1)), rankOf(x));
  Value bias = alongChannels(n, n.widen(n.input(2)), rankOf(x));
  return n.done(n.narrow(n.add(n.mul(norm.y, scale), bias), x));
}

// Scale and bias of layer norms broadcast to x in one direction only.
LogicalResult checkAffine(NodeImporter &n, unsigned i) {
  if (!n.has(i) || broadcastShapes(shapeOf(n.input(0)), shapeOf(n.input(i))) ==
                       Shape(shapeOf(n.input(0))))
    return success();
  return n.invalid(cat("has parameters ", typeText(n.input(i).getType()),
                       " that do not broadcast to ",
                       typeText(n.input(0).getType())));
}

LogicalResult importLayerNormalization(NodeImporter &n) {
  Value x = n.input(0);
  auto axis = n.axis(n.intAttr("axis", -1), rankOf(x));
  if (!axis || failed(checkAffine(n, 1)) || failed(checkAffine(n, 2)))
    return failure();
  Normalized norm = standardize(n, n.widen(x), axesFrom(*axis, rankOf(x)),
                                n.floatAttr("epsilon", 1e-5f));
  Value y = n.mul(norm.y, n.widen(n.input(1)));
  if (n.has(2))
    y = n.add(y, n.widen(n.input(2)));
  // The statistics have the type that stash_type names, float32.
  if (n.wants(1))
    n.setResult(1, n.castTo(norm.mean, n.builder.getF32Type()));
  if (n.wants(2))
    n.setResult(2, n.castTo(norm.inverse, n.builder.getF32Type()));
  return n.done(n.narrow(y, x));
}

LogicalResult importRMSNormalization(NodeImporter &n) {
  Value x = n.input(0);
  auto axis = n.axis(n.intAttr("axis", -1), rankOf(x));
  if (!axis || failed(checkAffine(n, 1)))
    return failure();
  Value wide = n.widen(x);
  Value square = n.reduceMean(n.mul(wide, wide), axesFrom(*axis, rankOf(x)));
  Value y = n.mul(wide, inverseRoot(n, square, n.floatAttr("epsilon", 1e-5f)));
  return n.done(n.narrow(n.mul(y, n.widen(n.input(1))), x));
}

LogicalResult importGroupNormalization(NodeImporter &n) {
  Value x = n.input(0);
  int64_t groups = n.intAttr("num_groups", 0);
  if (rankOf(x) < 2)
    return n.invalid("takes [n, c, ...], not " + typeText(x.getType()));
  Shape shape(shapeOf(x));
  if (groups < 1 || shape[1] % groups)
    return n.invalid(
        cat("cannot divide ", shape[1], " channels into ", groups, " groups"));
  // Opset 18 had one scale and bias a group, 21 made it one a channel.
  bool perGroup = n.opset < 21;
  int64_t parameters = perGroup ? groups : shape[1];
  if (failed(checkVector(n, 1, "scale", parameters)) ||
      failed(checkVector(n, 2, "bias", parameters)))
    return failure();
  Shape split{shape[0], groups, shape[1] / groups};
  split.append(shape.begin() + 2, shape.end());
  int64_t rank = static_cast<int64_t>(split.size());
  Normalized norm =
      standardize(n, n.reshape(n.widen(x), split), axesFrom(2, rank),
                  n.floatAttr("epsilon", 1e-5f));
  Shape affine(rank - 1, 1);
  affine[0] = groups;
  affine[1] = perGroup ? 1 : shape[1] / groups;
  Value scale = n.reshape(n.widen(n.input(1)), affine);
  Value bias = n.reshape(n.widen(n.input(2)), affine);
  Value y = n.add(n.mul(norm.y, scale), bias);
  return n.done(n.narrow(n.reshape(y, shape), x));
}

LogicalResult importLpNormalization(NodeImporter &n) {
  Value x = n.widen(n.input(0));
  auto axis = n.axis(n.intAttr("axis", -1), rankOf(n.input(0)));
  int64_t p = n.intAttr("p", 2);
  if (!axis)
    return failure();
  if (p != 1 && p != 2)
    return n.invalid(cat("has p=", p, "; it is 1 or 2"));
  Value norm = p == 1 ? n.reduceSum(n.create<AbsOp>(x), {*axis})
                      : n.create<SqrtOp>(n.reduceSum(n.mul(x, x), {*axis}));
  // A vector of zeros stays zero.
  Value zero = n.scalarLike(0, x);
  Value isZero = n.create<CompareOp>(ComparePredicate::eq, norm, zero);
  Value divisor = n.select(isZero, n.scalarLike(1, x), norm);
  return n.done(n.narrow(n.div(x, divisor), n.input(0)));
}

LogicalResult importMeanVarianceNormalization(NodeImporter &n) {
  Value x = n.input(0);
  auto axes = n.axes(n.intsAttr("axes").value_or(Shape{0, 2, 3}), rankOf(x));
  if (!axes)
    return failure();
  Value wide = n.widen(x);
  Value offset = n.sub(wide, n.reduceMean(wide, *axes));
  Value variance = n.reduceMean(n.mul(offset, offset), *axes);
  Value deviation = n.add(n.create<SqrtOp>(variance), n.scalarLike(1e-9, wide));
  return n.done(n.narrow(n.div(offset, deviation), x));
}

LogicalResult importLRN(NodeImporter &n) {
  Value x = n.input(0);
  int64_t size = n.intAttr("size", 0);
  if (rankOf(x) < 2 || size < 1 || size > (1 << 20))
    return n.invalid(cat("takes [n, c, ...] and a size of at least 1, not ",
                         typeText(x.getType()), " and ", size));
  // The sum over neighbouring channels is a pool with all padding counted.
  Shape shape(shapeOf(x)), plane{shape[0], 1, shape[1], 1};
  for (size_t i = 2; i < shape.size(); ++i)
    plane[3] *= shape[i];
  Value wide = n.widen(x);
  Value square = n.reshape(n.mul(wide, wide), plane);
  Shape window{size, 1}, ones{1, 1}, begin{(size - 1) / 2, 0},
      end{size - 1 - (size - 1) / 2, 0};
  Value mean = n.reshape(
      n.create<AvgPoolOp>(square, window, ones, ones, begin, end, begin, end),
      shape);
  Value base =
      n.add(n.scalarLike(n.floatAttr("bias", 1), wide),
            n.mul(mean, n.scalarLike(n.floatAttr("alpha", 1e-4f), wide)));
  Value scale =
      n.create<PowOp>(base, n.scalarLike(-n.floatAttr("beta", 0.75f), wide));
  return n.done(n.narrow(n.mul(wide, scale), x));
}

// Before opset 13 the dimensions from `axis` on were one.
LogicalResult importSoftmax(NodeImporter &n, bool log) {
  Value x = n.input(0);
  bool flattens = n.opset < 13;
  auto axis = n.axis(n.intAttr("axis", flattens ? 1 : -1),
                     std::max<int64_t>(rankOf(x), flattens ? 1 : 0));
  if (!axis)
    return failure();
  if (!flattens || *axis == rankOf(x) - 1)
    return n.done(n.create<SoftmaxOp>(x, *axis, log));
  Shape shape(shapeOf(x)), matrix{1, 1};
  for (auto [i, dim] : llvm::enumerate(shape))
    matrix[static_cast<int64_t>(i) >= *axis] *= dim;
  Value y = n.create<SoftmaxOp>(n.reshape(x, matrix), 1, log);
  return n.done(n.reshape(y, shape));
}

constexpr Arity kOne{1, 1}, kThree{3, 3};

const OpRow kRows[] = {
    {"BatchNormalization",
     1,
     {5, 5},
     {1, 5},
     "consumed_inputs=I epsilon=f is_test=i momentum=f spatial=i",
     importBatchNormalization},
    {"BatchNormalization",
     7,
     {5, 5},
     {1, 5},
     "epsilon=f momentum=f spatial=i",
     importBatchNormalization},
    {"BatchNormalization",
     9,
     {5, 5},
     {1, 5},
     "epsilon=f momentum=f",
     importBatchNormalization},
    {"BatchNormalization",
     14,
     {5, 5},
     {1, 3},
     "epsilon=f momentum=f training_mode=i",
     importBatchNormalization},
    {"InstanceNormalization", 1, kThree, kOne, "consumed_inputs=I epsilon=f",
     importInstanceNormalization},
    {"LayerNormalization",
     17,
     {2, 3},
     {1, 3},
     "axis=i epsilon=f stash_type=i",
     importLayerNormalization},
    {"RMSNormalization",
     23,
     {2, 2},
     kOne,
     "axis=i epsilon=f stash_type=i",
     importRMSNormalization},
    {"GroupNormalization", 18, kThree, kOne,
     "epsilon=f num_groups=i! stash_type=i", importGroupNormalization},
    {"LpNormalization", 1, kOne, kOne, "axis=i p=i", importLpNormalization},
    {"MeanVarianceNormalization", 9, kOne, kOne, "axes=I",
     importMeanVarianceNormalization},
    {"LRN", 1, kOne, kOne, "alpha=f beta=f bias=f size=i!", importLRN},
    {"Softmax", 1, kOne, kOne, "axis=i",
     [](NodeImporter &n) { return importSoftmax(n, false); }},
    {"LogSoftmax", 1, kOne, kOne, "axis=i",
     [](NodeImporter &n) { return importSoftmax(n, true); }},
};

} // namespace

ArrayRef<OpRow> normalizationRows() { return kRows; }

} // namespace pascaline::importer
