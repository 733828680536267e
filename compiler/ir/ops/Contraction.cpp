// Contraction.cpp - shapes and costs of matmul, conv and pooling.
//
// Test: test/ir/contraction.mlir, test/ir/contraction-invalid.mlir
#include "compiler/ir/Dialect.h"
#include "compiler/ir/Shapes.h"
#include "compiler/ir/Types.h"
#include "compiler/ir/ops/Common.h"

using namespace mlir;
using namespace pascaline::detail;

namespace pascaline {

static int64_t countOf(Value value) {
  return elementCount(shapeOf(value)).value_or(0);
}

static int64_t product(ArrayRef<int64_t> values) {
  int64_t result = 1;
  for (int64_t v : values)
    result *= v;
  return result;
}

/// A sum over nothing is zero, which no kernel needs to compute.
static OpFoldResult foldEmptySum(Value result, int64_t summands) {
  auto type = cast<RankedTensorType>(result.getType());
  if (summands != 0 || type.getEncoding() || type.getNumElements() == 0)
    return {};
  return DenseElementsAttr::get(
      type, FloatAttr::get(type.getElementType(), 0.0).getValue());
}

//===- matmul -----------------------------------------------------------===//

LogicalResult MatMulOp::inferReturnTypes(MLIRContext *context,
                                         std::optional<Location> location,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &results) {
  Value a = adaptor.getA(), b = adaptor.getB();
  auto aShape = shapeOf(a), bShape = shapeOf(b);
  if (elementOf(a) != elementOf(b))
    return emitOptionalError(location, "element types differ: a has ",
                             elementOf(a), ", b has ", elementOf(b),
                             "; cast one of them");
  if (aShape.size() < 2 || bShape.size() < 2)
    return emitOptionalError(
        location, "operands must have rank 2 or more: a has ", aShape.size(),
        ", b has ", bShape.size(), "; reshape a vector to a matrix");
  int64_t m = aShape[aShape.size() - 2], aK = aShape.back();
  int64_t bK = bShape[bShape.size() - 2], n = bShape.back();
  if (adaptor.getTransposeA())
    std::swap(m, aK);
  if (adaptor.getTransposeB())
    std::swap(bK, n);
  if (aK != bK)
    return emitOptionalError(location, "inner dimensions differ: a has ", aK,
                             " columns, b has ", bK, " rows");
  auto batch = broadcastShapes(aShape.drop_back(2), bShape.drop_back(2));
  if (!batch)
    return emitOptionalError(location,
                             "batch dimensions do not broadcast: a has ",
                             shapeText(aShape.drop_back(2)), ", b has ",
                             shapeText(bShape.drop_back(2)));
  batch->append({m, n});
  return addResult(location, *batch, elementOf(a), results);
}

static int64_t depthOf(MatMulOp op) {
  auto shape = shapeOf(op.getA());
  return op.getTransposeA() ? shape[shape.size() - 2] : shape.back();
}

OpFoldResult MatMulOp::fold(FoldAdaptor adaptor) {
  return foldEmptySum(getY(), depthOf(*this));
}

int64_t MatMulOp::countFlops() { return 2 * depthOf(*this) * countOf(getY()); }

//===- windows ----------------------------------------------------------===//

namespace {
/// The attributes that conv and the pools have in common.
struct Windows {
  ArrayRef<int64_t> window, strides, dilations, begin, end;
};
} // namespace

/// Appends the spatial outputs of windows over `in` to `shape`.
static LogicalResult addWindows(std::optional<Location> location,
                                ArrayRef<int64_t> in, const Windows &w,
                                SmallVectorImpl<int64_t> &shape) {
  auto checkSize = [&](StringRef name, ArrayRef<int64_t> values) {
    if (values.size() == in.size())
      return success();
    return LogicalResult(emitOptionalError(
        location, name, " must have a value for each of the ", in.size(),
        " spatial dimensions, but has ", values.size()));
  };
  if (failed(checkSize("the window", w.window)) ||
      failed(checkSize("strides", w.strides)) ||
      failed(checkSize("dilations", w.dilations)) ||
      failed(checkSize("pads_begin", w.begin)) ||
      failed(checkSize("pads_end", w.end)))
    return failure();
  for (size_t i = 0; i < in.size(); ++i) {
    auto out = windowOutputs(in[i], w.window[i], w.strides[i], w.dilations[i],
                             w.begin[i], w.end[i]);
    if (!out)
      return emitOptionalError(
          location, "spatial dimension ", i, ": a window of ", w.window[i],
          " with stride ", w.strides[i], " and dilation ", w.dilations[i],
          " does not fit into ", in[i], " elements padded by ", w.begin[i],
          " and ", w.end[i]);
    shape.push_back(*out);
  }
  return success();
}

static LogicalResult checkSpatialRank(std::optional<Location> location,
                                      ArrayRef<int64_t> shape) {
  if (shape.size() >= 3 && shape.size() <= 5)
    return success();
  return emitOptionalError(
      location,
      "x must be [n, c, spatial...] with 1 to 3 spatial dimensions, "
      "but has rank ",
      shape.size());
}

LogicalResult ConvOp::inferReturnTypes(MLIRContext *context,
                                       std::optional<Location> location,
                                       Adaptor adaptor,
                                       SmallVectorImpl<Type> &results) {
  Value x = adaptor.getX(), w = adaptor.getW();
  auto xShape = shapeOf(x), wShape = shapeOf(w);
  if (elementOf(x) != elementOf(w))
    return emitOptionalError(location, "element types differ: x has ",
                             elementOf(x), ", w has ", elementOf(w),
                             "; cast one of them");
  if (failed(checkSpatialRank(location, xShape)))
    return failure();
  if (wShape.size() != xShape.size())
    return emitOptionalError(location,
                             "x and w must have the same rank: x has ",
                             xShape.size(), ", w has ", wShape.size());
  int64_t groups = adaptor.getGroups();
  if (groups < 1 || xShape[1] % groups || wShape[0] % groups)
    return emitOptionalError(
        location, "groups must divide the channels: ", groups,
        " groups, x has ", xShape[1], " channels, w makes ", wShape[0]);
  if (wShape[1] != xShape[1] / groups)
    return emitOptionalError(location, "channels differ: x has ", xShape[1],
                             " in ", groups, " groups, w takes ", wShape[1],
                             " a group");
  Shape shape = {xShape[0], wShape[0]};
  Windows windows = {wShape.drop_front(2), adaptor.getStrides(),
                     adaptor.getDilations(), adaptor.getPadsBegin(),
                     adaptor.getPadsEnd()};
  if (failed(addWindows(location, xShape.drop_front(2), windows, shape)))
    return failure();
  return addResult(location, shape, elementOf(x), results);
}

OpFoldResult ConvOp::fold(FoldAdaptor adaptor) {
  return foldEmptySum(getY(), product(shapeOf(getW()).drop_front()));
}

int64_t ConvOp::countFlops() {
  return 2 * countOf(getY()) * product(shapeOf(getW()).drop_front());
}

/// The shape function of both pools: x's batch and channels, then the windows.
template <typename Adaptor>
static LogicalResult inferPool(std::optional<Location> location,
                               Adaptor adaptor,
                               SmallVectorImpl<Type> &results) {
  auto xShape = shapeOf(adaptor.getX());
  if (failed(checkSpatialRank(location, xShape)))
    return failure();
  Shape shape = {xShape[0], xShape[1]};
  Windows windows = {adaptor.getWindow(), adaptor.getStrides(),
                     adaptor.getDilations(), adaptor.getPadsBegin(),
                     adaptor.getPadsEnd()};
  if (failed(addWindows(location, xShape.drop_front(2), windows, shape)))
    return failure();
  return addResult(location, shape, elementOf(adaptor.getX()), results);
}

LogicalResult MaxPoolOp::inferReturnTypes(MLIRContext *context,
                                          std::optional<Location> location,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &results) {
  return inferPool(location, adaptor, results);
}

int64_t MaxPoolOp::countFlops() {
  return countOf(getY()) * product(getWindow());
}

LogicalResult AvgPoolOp::inferReturnTypes(MLIRContext *context,
                                          std::optional<Location> location,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &results) {
  if (failed(inferPool(location, adaptor, results)))
    return failure();
  auto checkCounted = [&](StringRef name, ArrayRef<int64_t> counted,
                          ArrayRef<int64_t> pads) -> LogicalResult {
    if (counted.size() != pads.size())
      return emitOptionalError(
          location, name, " must have a value for each of the ", pads.size(),
          " spatial dimensions, but has ", counted.size());
    for (auto [c, p] : llvm::zip_equal(counted, pads))
      if (c < 0 || c > p)
        return emitOptionalError(location, name, " must be 0 to the padding ",
                                 p, ", but is ", c);
    return success();
  };
  if (failed(checkCounted("counted_begin", adaptor.getCountedBegin(),
                          adaptor.getPadsBegin())))
    return failure();
  return checkCounted("counted_end", adaptor.getCountedEnd(),
                      adaptor.getPadsEnd());
}

int64_t AvgPoolOp::countFlops() {
  return countOf(getY()) * product(getWindow());
}

} // namespace pascaline
