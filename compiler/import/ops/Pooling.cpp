// Pooling.cpp - pools over windows and over the whole map.
#include "compiler/import/OpTable.h"
#include "compiler/import/Text.h"
#include "compiler/import/ops/Common.h"
#include "compiler/ir/Dialect.h"
#include "compiler/ir/Types.h"

using namespace mlir;

namespace pascaline::importer {
namespace {

LogicalResult checkMap(NodeImporter &n) {
  if (rankOf(n.input(0)) < 3)
    return n.invalid("takes [n, c, spatial...], not " +
                     typeText(n.input(0).getType()));
  return success();
}

std::optional<Windows> poolWindows(NodeImporter &n) {
  if (failed(checkMap(n)))
    return std::nullopt;
  ArrayRef<int64_t> in = shapeOf(n.input(0)).drop_front(2);
  Shape window = n.intsAttr("kernel_shape").value_or(Shape());
  if (window.size() != in.size()) {
    (void)n.invalid(cat("has kernel_shape=", listText(window), " for ",
                        typeText(n.input(0).getType())));
    return std::nullopt;
  }
  return resolveWindows(n, in, window);
}

LogicalResult importMaxPool(NodeImporter &n) {
  auto w = poolWindows(n);
  if (!w)
    return failure();
  if (n.wants(1))
    return n.unsupported("its second output, the indices, is not supported");
  return n.done(n.create<MaxPoolOp>(n.input(0), w->window, w->strides,
                                    w->dilations, w->begin, w->end));
}

LogicalResult importAveragePool(NodeImporter &n) {
  auto w = poolWindows(n);
  if (!w)
    return failure();
  Shape none(w->window.size(), 0);
  bool counts = n.flagAttr("count_include_pad");
  return n.done(n.create<AvgPoolOp>(
      n.input(0), w->window, w->strides, w->dilations, w->begin, w->end,
      counts ? w->begin : none, counts ? w->countedEnd : none));
}

// |x|^p and its inverse.
Value power(NodeImporter &n, Value x, double p) {
  if (p == 1)
    return n.create<AbsOp>(x);
  if (p == 2)
    return n.mul(x, x);
  return n.create<PowOp>(n.create<AbsOp>(x), n.scalarLike(p, x));
}
Value root(NodeImporter &n, Value x, double p) {
  if (p == 1)
    return x;
  if (p == 2)
    return n.create<SqrtOp>(x);
  return n.create<PowOp>(x, n.scalarLike(1 / p, x));
}

// The p of a norm: an int from opset 2 on.
double normOrder(NodeImporter &n) {
  return n.opset < 2 ? n.floatAttr("p", 2)
                     : static_cast<double>(n.intAttr("p", 2));
}

LogicalResult importLpPool(NodeImporter &n) {
  auto w = poolWindows(n);
  double p = normOrder(n);
  if (!w)
    return failure();
  if (!(p >= 1))
    return n.invalid(cat("has p=", p, "; it is at least 1"));
  // With all padding counted, the mean times the window's size is the sum.
  double size = 1;
  for (int64_t extent : w->window)
    size *= static_cast<double>(extent);
  Value x = power(n, n.widen(n.input(0)), p);
  Value mean = n.create<AvgPoolOp>(x, w->window, w->strides, w->dilations,
                                   w->begin, w->end, w->begin, w->end);
  return n.done(
      n.narrow(root(n, n.mul(mean, n.scalarLike(size, x)), p), n.input(0)));
}

LogicalResult importGlobalLpPool(NodeImporter &n) {
  double p = normOrder(n);
  if (failed(checkMap(n)))
    return failure();
  if (!(p >= 1))
    return n.invalid(cat("has p=", p, "; it is at least 1"));
  Value x = power(n, n.widen(n.input(0)), p);
  Value sum = n.reduceSum(x, axesFrom(2, rankOf(n.input(0))));
  return n.done(n.narrow(root(n, sum, p), n.input(0)));
}

LogicalResult importGlobalAveragePool(NodeImporter &n) {
  if (failed(checkMap(n)))
    return failure();
  Value x = n.widen(n.input(0));
  return n.done(
      n.narrow(n.reduceMean(x, axesFrom(2, rankOf(n.input(0)))), n.input(0)));
}

LogicalResult importGlobalMaxPool(NodeImporter &n) {
  if (failed(checkMap(n)))
    return failure();
  Shape axes = axesFrom(2, rankOf(n.input(0)));
  return n.done(n.create<ReduceOp>(ReduceKind::max, n.input(0), axes));
}

constexpr Arity kOne{1, 1};

const OpRow kRows[] = {
    {"MaxPool", 1, kOne, kOne, "auto_pad=s kernel_shape=I! pads=I strides=I",
     importMaxPool},
    {"MaxPool",
     8,
     kOne,
     {1, 2},
     "auto_pad=s ceil_mode=i dilations=I kernel_shape=I! pads=I "
     "storage_order=i strides=I",
     importMaxPool},
    {"AveragePool", 1, kOne, kOne,
     "auto_pad=s ceil_mode=i count_include_pad=i dilations=I kernel_shape=I! "
     "pads=I strides=I",
     importAveragePool},
    {"LpPool", 1, kOne, kOne, "auto_pad=s kernel_shape=I! p=f pads=I strides=I",
     importLpPool},
    {"LpPool", 2, kOne, kOne,
     "auto_pad=s ceil_mode=i dilations=I kernel_shape=I! p=i pads=I strides=I",
     importLpPool},
    {"GlobalLpPool", 1, kOne, kOne, "p=f", importGlobalLpPool},
    {"GlobalLpPool", 2, kOne, kOne, "p=i", importGlobalLpPool},
    {"GlobalAveragePool", 1, kOne, kOne, "", importGlobalAveragePool},
    {"GlobalMaxPool", 1, kOne, kOne, "", importGlobalMaxPool},
};

} // namespace

ArrayRef<OpRow> poolingRows() { return kRows; }

} // namespace pascaline::importer
