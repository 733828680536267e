// Evaluate.cpp - fold by running emitScalar's formula on constants.
//
// A formula is written once, as arith and math ops. To evaluate it, it is
// emitted into a scratch block and each of its ops folded, element by element:
// MLIR's own folders are the interpreter.
//
// Test: test/ir/fold-pointwise.mlir
#include "compiler/ir/ops/Evaluate.h"

#include "compiler/ir/Constants.h"
#include "compiler/ir/Dialect.h"
#include "compiler/ir/Shapes.h"
#include "compiler/ir/Types.h"
#include "compiler/ir/ops/Common.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"

#include <cstring>

using namespace mlir;

namespace pascaline::detail {

/// The element at `at` as an attribute of the compute type.
static Attribute loadScalar(ArrayRef<char> bytes, int64_t at, Type element) {
  Type compute = computeType(element);
  unsigned width = element.getIntOrFloatBitWidth();
  size_t size = elementBytes(element);
  uint64_t raw = 0;
  std::memcpy(&raw, bytes.data() + at * size, size);
  if (isa<IntegerType>(element))
    return IntegerAttr::get(compute, APInt(width, width == 1 ? raw != 0 : raw));
  APFloat value(cast<FloatType>(element).getFloatSemantics(),
                APInt(width, raw));
  bool lossy;
  value.convert(cast<FloatType>(compute).getFloatSemantics(),
                APFloat::rmNearestTiesToEven, &lossy);
  return FloatAttr::get(compute, value);
}

/// Appends a scalar of the compute type as an element, rounded to it.
static void storeScalar(Attribute scalar, Type element,
                        SmallVectorImpl<char> &bytes) {
  APInt bits;
  if (auto integer = dyn_cast<IntegerAttr>(scalar)) {
    bits = integer.getValue();
  } else {
    APFloat value = cast<FloatAttr>(scalar).getValue();
    bool lossy;
    value.convert(cast<FloatType>(element).getFloatSemantics(),
                  APFloat::rmNearestTiesToEven, &lossy);
    bits = value.bitcastToAPInt();
  }
  uint64_t raw = bits.getZExtValue();
  const char *begin = reinterpret_cast<const char *>(&raw);
  bytes.append(begin, begin + elementBytes(element));
}

/// arith.truncf has a folder for exact results alone; a cast rounds.
static Attribute foldTruncF(arith::TruncFOp op, Attribute in) {
  auto value = dyn_cast_or_null<FloatAttr>(in);
  if (!value)
    return {};
  APFloat rounded = value.getValue();
  bool lossy;
  rounded.convert(cast<FloatType>(op.getType()).getFloatSemantics(),
                  APFloat::rmNearestTiesToEven, &lossy);
  return FloatAttr::get(op.getType(), rounded);
}

namespace {
/// A formula in a scratch block, run on one tuple of scalars at a time.
class Formula {
public:
  explicit Formula(ScalarOpInterface op) {
    MLIRContext *context = op->getContext();
    context->loadDialect<arith::ArithDialect, math::MathDialect>();
    for (Value operand : op->getOperands())
      block.addArgument(computeType(elementOf(operand)), op.getLoc());
    OpBuilder builder(context);
    builder.setInsertionPointToEnd(&block);
    result = op.emitScalar(builder, op.getLoc(), block.getArguments());
  }

  Attribute run(ArrayRef<Attribute> operands) {
    llvm::DenseMap<Value, Attribute> values;
    for (auto [argument, operand] :
         llvm::zip_equal(block.getArguments(), operands))
      values[argument] = operand;
    for (Operation &op : block) {
      SmallVector<Attribute> constants;
      for (Value operand : op.getOperands())
        constants.push_back(values.lookup(operand));
      Attribute value = fold(op, constants, values);
      // An op that does not fold may still be one that nothing needs.
      if (value)
        values[op.getResult(0)] = value;
    }
    return values.lookup(result);
  }

private:
  static Attribute fold(Operation &op, ArrayRef<Attribute> constants,
                        llvm::DenseMap<Value, Attribute> &values) {
    if (auto truncf = dyn_cast<arith::TruncFOp>(op))
      return foldTruncF(truncf, constants[0]);
    SmallVector<OpFoldResult, 1> results;
    if (failed(op.fold(constants, results)) || results.size() != 1)
      return {};
    if (auto value = dyn_cast<Value>(results[0]))
      return values.lookup(value);
    return cast<Attribute>(results[0]);
  }

  Block block;
  Value result;
};
} // namespace

/// Element strides of an operand along the result's dimensions: 0 where it is
/// broadcast.
static Shape broadcastStrides(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  Shape own = rowMajorStrides(from), strides(to.size(), 0);
  size_t offset = to.size() - from.size();
  for (size_t d = 0; d < from.size(); ++d)
    if (from[d] != 1)
      strides[offset + d] = own[d];
  return strides;
}

ElementsAttr evaluatePointwise(Operation *op, ArrayRef<Attribute> operands) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  auto values = llvm::map_to_vector(operands, [](Attribute operand) {
    return dyn_cast_or_null<ElementsAttr>(operand);
  });
  if (type.getEncoding() || !llvm::all_of(values, [](auto v) { return v; }))
    return {};
  // A splat's bytes are one element, whatever the shape.
  bool splat = llvm::all_of(values, [](auto v) { return v.isSplat(); });
  int64_t count = type.getNumElements();
  if (count == 0 || (!splat && count > kMostScalars))
    return {};

  SmallVector<SmallVector<char>> bytes;
  SmallVector<Shape> strides;
  for (ElementsAttr value : values) {
    auto from = cast<RankedTensorType>(value.getType());
    if (auto dense = dyn_cast<DenseElementsAttr>(value);
        dense && dense.isSplat())
      value =
          dense.resizeSplat(RankedTensorType::get({}, from.getElementType()));
    auto own = elementBytes(value);
    if (!own)
      return {};
    bytes.push_back(*own);
    strides.push_back(broadcastStrides(
        cast<RankedTensorType>(value.getType()).getShape(), type.getShape()));
  }

  Formula formula(cast<ScalarOpInterface>(op));
  SmallVector<char> result;
  Shape index(type.getRank(), 0);
  for (int64_t i = 0, end = splat ? 1 : count; i < end; ++i) {
    SmallVector<Attribute> scalars;
    for (size_t k = 0; k < values.size(); ++k) {
      int64_t at = 0;
      for (int64_t d = 0; d < type.getRank(); ++d)
        at += index[d] * strides[k][d];
      scalars.push_back(loadScalar(bytes[k], at, values[k].getElementType()));
    }
    Attribute scalar = formula.run(scalars);
    if (!scalar)
      return {};
    storeScalar(scalar, type.getElementType(), result);
    for (int64_t d = type.getRank();
         d-- > 0 && ++index[d] == type.getDimSize(d);)
      index[d] = 0;
  }
  if (!splat)
    return makeElements(type, result);
  auto one = RankedTensorType::get({}, type.getElementType());
  return cast<DenseElementsAttr>(makeElements(one, result)).resizeSplat(type);
}

ElementsAttr reduceOfNothing(ReduceOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  Type element = type.getElementType();
  ReduceKind kind = op.getKind();
  if (type.getEncoding() || type.getNumElements() == 0)
    return {};
  if (auto number = dyn_cast<FloatType>(element)) {
    const llvm::fltSemantics &form = number.getFloatSemantics();
    APFloat value = kind == ReduceKind::sum ? APFloat::getZero(form)
                    : kind == ReduceKind::prod
                        ? APFloat::getOne(form)
                        : APFloat::getInf(form, kind == ReduceKind::max);
    return DenseElementsAttr::get(type, value);
  }
  unsigned width = element.getIntOrFloatBitWidth();
  bool isUnsigned = element.isUnsignedInteger();
  APInt least =
      isUnsigned ? APInt::getMinValue(width) : APInt::getSignedMinValue(width);
  APInt most =
      isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width);
  return DenseElementsAttr::get(type, kind == ReduceKind::sum ? APInt(width, 0)
                                      : kind == ReduceKind::prod
                                          ? APInt(width, 1)
                                      : kind == ReduceKind::max ? least
                                                                : most);
}

ElementsAttr evaluateReduce(ReduceOp op, ElementsAttr x) {
  auto from = cast<RankedTensorType>(x.getType());
  auto type = cast<RankedTensorType>(op.getType());
  auto element = dyn_cast<IntegerType>(from.getElementType());
  if (!element || from.getNumElements() > kMostMoved ||
      from.getNumElements() == 0 || type.getEncoding())
    return {};
  auto bytes = elementBytes(x);
  if (!bytes)
    return {};
  Shape strides = rowMajorStrides(type.getShape());
  SmallVector<std::optional<APInt>> sums(type.getNumElements());
  Shape index(from.getRank(), 0);
  for (int64_t i = 0; i < from.getNumElements(); ++i) {
    int64_t at = 0;
    for (int64_t d = 0; d < from.getRank(); ++d)
      at += type.getDimSize(d) == 1 ? 0 : index[d] * strides[d];
    APInt value = cast<IntegerAttr>(loadScalar(*bytes, i, element)).getValue();
    std::optional<APInt> &sum = sums[at];
    bool isUnsigned = element.isUnsigned();
    bool larger = sum && (isUnsigned ? value.ugt(*sum) : value.sgt(*sum));
    switch (op.getKind()) {
    case ReduceKind::sum:
      sum = sum ? *sum + value : value;
      break;
    case ReduceKind::prod:
      sum = sum ? *sum * value : value;
      break;
    case ReduceKind::max:
      sum = !sum || larger ? value : *sum;
      break;
    case ReduceKind::min:
      sum = !sum || !larger ? value : *sum;
      break;
    }
    for (int64_t d = from.getRank();
         d-- > 0 && ++index[d] == from.getDimSize(d);)
      index[d] = 0;
  }
  SmallVector<char> result;
  for (const std::optional<APInt> &sum : sums)
    storeScalar(IntegerAttr::get(computeType(element), *sum), element, result);
  return makeElements(type, result);
}

} // namespace pascaline::detail
