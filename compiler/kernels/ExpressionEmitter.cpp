// ExpressionEmitter.cpp - see the header. The memory side (loads, stores,
// conversions) is in ElementAccess.cpp.

#include "compiler/kernels/ExpressionEmitter.h"

#include "compiler/ir/Constants.h"
#include "compiler/ir/Layout.h"
#include "compiler/ir/Types.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;

namespace pascaline {

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

static Type elementOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

static int64_t countOf(ArrayRef<int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1),
                         std::multiplies<int64_t>());
}

TensorIndex TensorIndex::linear(ArrayRef<int64_t> shape, AffineIndex flat) {
  TensorIndex at;
  at.shape.assign(shape.begin(), shape.end());
  at.flat = std::move(flat);
  at.dims.resize(shape.size());
  return at;
}

TensorIndex TensorIndex::of(ArrayRef<int64_t> shape,
                            ArrayRef<AffineIndex> dims) {
  TensorIndex at;
  at.shape.assign(shape.begin(), shape.end());
  at.dims.assign(dims.begin(), dims.end());
  return at;
}

//===- Binding
//--------------------------------------------------------------===//

ExpressionEmitter::ExpressionEmitter(FusedOp group, OpBuilder &builder,
                                     Location loc)
    : group(group), builder(builder), loc(loc), indices(builder, loc),
      outputs(group.getNumResults()) {
  Block &body = group.getBody().front();
  for (BlockArgument argument : body.getArguments())
    numbers.try_emplace(argument, numbers.size());
  for (Operation &op : body)
    for (Value result : op.getResults())
      numbers.try_emplace(result, numbers.size());
}

bool ExpressionEmitter::needsPointer(FusedOp group, unsigned operand) {
  return !group.getBody().front().getArgument(operand).use_empty();
}

void ExpressionEmitter::bindInput(unsigned operand, Value pointer) {
  inputs[group.getBody().front().getArgument(operand)] = pointer;
}

void ExpressionEmitter::bindOutput(unsigned result, Value pointer) {
  outputs[result] = pointer;
}

ExpressionEmitter::Scope::Scope(ExpressionEmitter &emitter)
    : emitter(emitter), indices(emitter.indices.saveState()),
      values(emitter.memo) {}

ExpressionEmitter::Scope::~Scope() {
  emitter.indices.restoreState(std::move(indices));
  emitter.memo = std::move(values);
}

Value ExpressionEmitter::failed(Type element, std::string why) {
  if (firstProblem.empty())
    firstProblem = std::move(why);
  return builder.create<arith::ConstantOp>(
      loc, builder.getZeroAttr(computeType(element)));
}

Value ExpressionEmitter::literal(ElementsAttr value) {
  Type type = computeType(value.getElementType());
  if (auto floats = dyn_cast<FloatType>(type)) {
    APFloat number = *value.value_begin<APFloat>();
    bool inexact;
    number.convert(floats.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                   &inexact);
    return builder.create<arith::ConstantOp>(
        loc, builder.getFloatAttr(floats, number));
  }
  return builder.create<arith::ConstantOp>(
      loc, builder.getIntegerAttr(type, *value.value_begin<APInt>()));
}

//===- Indices
//--------------------------------------------------------------===//

AffineIndex ExpressionEmitter::flat(TensorIndex &at) {
  if (!at.flat) {
    Shape strides = rowMajorStrides(at.shape);
    AffineIndex sum(0);
    for (auto [index, stride] : llvm::zip(at.dims, strides))
      sum = sum + *index * stride;
    at.flat = sum;
  }
  return *at.flat;
}

AffineIndex ExpressionEmitter::dim(TensorIndex &at, unsigned dimension) {
  if (!at.dims[dimension]) {
    int64_t stride = rowMajorStrides(at.shape)[dimension];
    at.dims[dimension] =
        indices.modulo(indices.divide(*at.flat, stride), at.shape[dimension]);
  }
  return *at.dims[dimension];
}

/// Where an element lies in the memory of a tensor, in elements.
AffineIndex ExpressionEmitter::place(Value tensor, TensorIndex &at) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (!type.getEncoding())
    return flat(at);
  MemoryLayout memory = memoryLayout(type);
  Shape strides = rowMajorStrides(at.shape);
  AffineIndex sum(memory.offset);
  for (size_t i = 0; i < memory.axes.size(); ++i) {
    MemoryAxis axis = memory.axes[i];
    if (axis.part == MemoryAxis::Slice) {
      sum = sum + indices.divide(dim(at, axis.dim), memory.pack) * axis.stride;
      continue;
    }
    if (axis.part == MemoryAxis::Lane) {
      sum = sum + indices.modulo(dim(at, axis.dim), memory.pack);
      continue;
    }
    // Dimensions that follow each other here and there need no division.
    size_t last = i;
    int64_t extent = at.shape[axis.dim];
    for (; last + 1 < memory.axes.size() && at.flat; ++last) {
      const MemoryAxis &next = memory.axes[last + 1];
      if (next.part != MemoryAxis::Whole ||
          next.dim != memory.axes[last].dim + 1 ||
          next.extent != at.shape[next.dim])
        break;
      extent *= next.extent;
    }
    axis = memory.axes[last];
    AffineIndex index =
        last == i ? dim(at, axis.dim)
                  : indices.modulo(indices.divide(flat(at), strides[axis.dim]),
                                   extent);
    sum = sum + index * axis.stride;
    i = last;
  }
  return sum;
}

/// Whether every dimension's index is known without dividing.
static bool hasDims(const TensorIndex &at) {
  return llvm::all_of(at.dims, [](const auto &d) { return d.has_value(); });
}

TensorIndex ExpressionEmitter::broadcastOperand(TensorIndex &at,
                                                ArrayRef<int64_t> shape) {
  if (ArrayRef<int64_t>(at.shape) == shape)
    return at;
  size_t rank = shape.size(), lead = at.shape.size() - rank;
  if (hasDims(at)) {
    SmallVector<AffineIndex> dims;
    for (size_t i = 0; i < rank; ++i)
      dims.push_back(shape[i] == 1 ? AffineIndex(0) : *at.dims[lead + i]);
    return TensorIndex::of(shape, dims);
  }
  // A run of dimensions that both have needs one quotient and one remainder,
  // not one a dimension.
  Shape from = rowMajorStrides(at.shape), to = rowMajorStrides(shape);
  AffineIndex sum(0);
  for (size_t i = 0; i < rank;) {
    size_t end = i;
    int64_t extent = 1;
    while (end < rank && shape[end] == at.shape[lead + end])
      extent *= shape[end++];
    if (extent > 1)
      sum = sum + indices.modulo(indices.divide(*at.flat, from[lead + end - 1]),
                                 extent) *
                      to[end - 1];
    i = end + (end < rank);
  }
  return TensorIndex::linear(shape, sum);
}

TensorIndex ExpressionEmitter::permuted(TensorIndex &at,
                                        ArrayRef<int64_t> source) {
  Shape shape;
  for (int64_t s : source)
    shape.push_back(at.shape[s]);
  if (hasDims(at)) {
    SmallVector<AffineIndex> dims;
    for (int64_t s : source)
      dims.push_back(*at.dims[s]);
    return TensorIndex::of(shape, dims);
  }
  Shape from = rowMajorStrides(at.shape), to = rowMajorStrides(shape);
  AffineIndex sum(0);
  for (size_t i = 0; i < source.size();) {
    // Neighbours that stay neighbours move as one dimension.
    size_t end = i;
    int64_t extent = shape[i];
    while (end + 1 < source.size() && source[end + 1] == source[end] + 1)
      extent *= shape[++end];
    sum = sum +
          indices.modulo(indices.divide(*at.flat, from[source[end]]), extent) *
              to[end];
    i = end + 1;
  }
  return TensorIndex::linear(shape, sum);
}

TensorIndex ExpressionEmitter::sliceOperand(SliceOp slice, TensorIndex &at) {
  ArrayRef<int64_t> shape = shapeOf(slice.getX());
  ArrayRef<int64_t> starts = slice.getStarts(), steps = slice.getSteps();
  if (hasDims(at)) {
    SmallVector<AffineIndex> dims;
    for (size_t i = 0; i < shape.size(); ++i)
      dims.push_back(*at.dims[i] * steps[i] + AffineIndex(starts[i]));
    return TensorIndex::of(shape, dims);
  }
  Shape from = rowMajorStrides(at.shape), to = rowMajorStrides(shape);
  AffineIndex sum(0);
  for (size_t i = 0; i < shape.size();) {
    // A dimension and the whole dimensions after it lie in one piece.
    size_t end = i;
    int64_t extent = at.shape[i];
    while (steps[i] == 1 && end + 1 < shape.size() && steps[end + 1] == 1 &&
           at.shape[end + 1] == shape[end + 1])
      extent *= shape[++end];
    sum = sum +
          indices.modulo(indices.divide(*at.flat, from[end]), extent) *
              (to[end] * steps[i]) +
          AffineIndex(starts[i] * to[i]);
    i = end + 1;
  }
  return TensorIndex::linear(shape, sum);
}

/// Where the element of a view's result lies in its operand.
TensorIndex ExpressionEmitter::operandOfView(Operation *view, TensorIndex &at) {
  ArrayRef<int64_t> shape = shapeOf(view->getOperand(0));
  if (auto transpose = dyn_cast<TransposeOp>(view)) {
    SmallVector<int64_t> inverse(shape.size());
    for (auto [i, p] : llvm::enumerate(transpose.getPerm()))
      inverse[p] = i;
    return permuted(at, inverse);
  }
  if (auto slice = dyn_cast<SliceOp>(view))
    return sliceOperand(slice, at);
  if (isa<BroadcastOp>(view))
    return broadcastOperand(at, shape);
  if (isa<RelayoutOp>(view))
    return at;
  return TensorIndex::linear(shape, flat(at)); // reshape
}

/// Where the element of a view's operand comes to lie in its result; nothing
/// where it may lie in several places or none.
std::optional<TensorIndex> ExpressionEmitter::resultOfView(Operation *view,
                                                           TensorIndex &at) {
  ArrayRef<int64_t> shape = shapeOf(view->getResult(0));
  if (countOf(shape) != countOf(at.shape))
    return std::nullopt;
  if (auto transpose = dyn_cast<TransposeOp>(view))
    return permuted(at, transpose.getPerm());
  if (isa<RelayoutOp>(view))
    return at;
  if (auto slice = dyn_cast<SliceOp>(view)) {
    if (!llvm::all_of(slice.getSteps(), [](int64_t s) { return s == 1; }))
      return std::nullopt;
  }
  return TensorIndex::linear(shape, flat(at));
}

//===- Values
//---------------------------------------------------------------===//

static bool isView(Operation *op) {
  return isa<TransposeOp, ReshapeOp, RelayoutOp, BroadcastOp, SliceOp>(op);
}

/// f of a pointwise op at one element.
static Value scalarOf(Operation *op, OpBuilder &builder, Location loc,
                      ArrayRef<Value> operands) {
  return cast<ScalarOpInterface>(op).emitScalar(builder, loc, operands);
}

std::vector<int64_t> ExpressionEmitter::keyOf(Value value, TensorIndex &at) {
  AffineIndex place = flat(at);
  std::vector<int64_t> key = {int64_t(numbers.lookup(value)), place.constant};
  for (auto [variable, coefficient] : place.terms) {
    key.push_back(variable);
    key.push_back(coefficient);
  }
  return key;
}

SmallVector<Value> ExpressionEmitter::evaluate(Value value,
                                               ArrayRef<TensorIndex> at) {
  std::vector<TensorIndex> missing;
  std::vector<std::vector<int64_t>> keys, missingKeys;
  for (TensorIndex index : at) {
    keys.push_back(keyOf(value, index));
    if (memo.count(keys.back()) || llvm::is_contained(missingKeys, keys.back()))
      continue;
    missing.push_back(std::move(index));
    missingKeys.push_back(keys.back());
  }
  if (!missing.empty())
    for (auto [key, made] : llvm::zip(missingKeys, compute(value, missing)))
      memo[key] = made;
  SmallVector<Value> result;
  for (const std::vector<int64_t> &key : keys)
    result.push_back(memo[key]);
  return result;
}

SmallVector<Value> ExpressionEmitter::compute(Value value,
                                              MutableArrayRef<TensorIndex> at) {
  Type element = elementOf(value);
  if (isa<BlockArgument>(value)) {
    SmallVector<AffineIndex> places;
    for (TensorIndex &index : at)
      places.push_back(place(value, index));
    return load(inputs.lookup(value), element, places);
  }

  Operation *op = value.getDefiningOp();
  if (ElementsAttr known = constantValue(value)) // all its elements are one
    return SmallVector<Value>(at.size(), literal(known));
  if (isView(op)) {
    std::vector<TensorIndex> source;
    for (TensorIndex &index : at)
      source.push_back(operandOfView(op, index));
    return evaluate(op->getOperand(0), source);
  }
  if (!isa<ScalarOpInterface>(op))
    return SmallVector<Value>(
        at.size(),
        failed(element, (op->getName().getStringRef() +
                         " is neither pointwise nor a view, so its elements "
                         "cannot be computed inside another kernel")
                            .str()));
  SmallVector<SmallVector<Value>> operands;
  for (Value operand : op->getOperands()) {
    std::vector<TensorIndex> source;
    for (TensorIndex &index : at)
      source.push_back(broadcastOperand(index, shapeOf(operand)));
    operands.push_back(evaluate(operand, source));
  }
  SmallVector<Value> result;
  for (size_t w = 0; w < at.size(); ++w) {
    SmallVector<Value> scalars;
    for (const SmallVector<Value> &operand : operands)
      scalars.push_back(operand[w]);
    result.push_back(scalarOf(op, builder, loc, scalars));
  }
  return result;
}

//===- Results
//--------------------------------------------------------------===//

void ExpressionEmitter::storeResults(ArrayRef<TensorIndex> at) {
  // All loads before the first store, which may lie in an operand's place.
  SmallVector<SmallVector<Value>> values;
  for (Value value : group.getYield().getValues())
    values.push_back(evaluate(value, at));
  for (auto [pointer, value, elements] :
       llvm::zip(outputs, group.getYield().getValues(), values)) {
    SmallVector<AffineIndex> places;
    for (TensorIndex index : at)
      places.push_back(place(value, index));
    store(pointer, elementOf(value), places, elements);
  }
}

void ExpressionEmitter::storeResults(ArrayRef<TensorIndex> at,
                                     ArrayRef<Value> elements) {
  storeResultsAfter(group.getAnchor(), at, elements);
}

void ExpressionEmitter::storeResultsAfter(Operation *producer,
                                          ArrayRef<TensorIndex> at,
                                          ArrayRef<Value> elements) {
  // What follows the producer, in order: its values and where they lie. Going
  // forward keeps the producer's own index, which going back from the results
  // would only find again by dividing.
  struct Element {
    std::vector<TensorIndex> at;
    SmallVector<Value> values;
  };
  llvm::DenseMap<Value, Element> after;
  after[producer->getResult(0)] = {at.vec(), SmallVector<Value>(elements)};
  for (Operation *op = producer->getNextNode(); op; op = op->getNextNode()) {
    auto first = llvm::find_if(
        op->getOperands(), [&](Value operand) { return after.count(operand); });
    if (first == op->operand_end() || isa<YieldOp>(op))
      continue;
    Element source = after[*first], made;
    ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
    for (TensorIndex &index : source.at) {
      std::optional<TensorIndex> place;
      if (isView(op))
        place = resultOfView(op, index);
      else if (ArrayRef<int64_t>(index.shape) == shape)
        place = index;
      else if (countOf(index.shape) == countOf(shape))
        place = TensorIndex::linear(shape, flat(index));
      if (!place) {
        failed(elementOf(op->getResult(0)),
               (op->getName().getStringRef() +
                " uses an element of its group's anchor more than once or not "
                "at all, so it cannot follow it in one kernel")
                   .str());
        return;
      }
      made.at.push_back(std::move(*place));
    }
    if (isView(op)) {
      made.values = source.values;
    } else {
      SmallVector<SmallVector<Value>> operands;
      for (Value operand : op->getOperands()) {
        auto known = after.find(operand);
        if (known == after.end()) {
          std::vector<TensorIndex> places;
          for (TensorIndex &index : made.at)
            places.push_back(broadcastOperand(index, shapeOf(operand)));
          operands.push_back(evaluate(operand, places));
          continue;
        }
        for (auto [index, other] : llvm::zip(made.at, known->second.at))
          if (!(flat(index) == flat(other))) {
            failed(elementOf(operand),
                   (op->getName().getStringRef() +
                    " combines elements of its group's anchor from different "
                    "places, so it cannot follow it in one kernel")
                       .str());
            return;
          }
        operands.push_back(known->second.values);
      }
      for (size_t w = 0; w < at.size(); ++w) {
        SmallVector<Value> scalars;
        for (const SmallVector<Value> &operand : operands)
          scalars.push_back(operand[w]);
        made.values.push_back(scalarOf(op, builder, loc, scalars));
      }
    }
    after[op->getResult(0)] = std::move(made);
  }
  for (auto [pointer, value] :
       llvm::zip(outputs, group.getYield().getValues())) {
    auto known = after.find(value);
    if (known == after.end()) {
      failed(elementOf(value), "a result of the group does not depend on its "
                               "anchor, so it belongs in another kernel");
      return;
    }
    SmallVector<AffineIndex> places;
    for (TensorIndex &index : known->second.at)
      places.push_back(place(value, index));
    store(pointer, elementOf(value), places, known->second.values);
  }
}

} // namespace pascaline
