// NodeImporter.cpp - reading a node and building what it stands for.
#include "compiler/import/NodeImporter.h"

#include "compiler/import/Text.h"
#include "compiler/ir/Constants.h"
#include "compiler/ir/Dialect.h"
#include "compiler/ir/Types.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace pascaline::importer {

NodeImporter::NodeImporter(OpBuilder &builder, Location loc, const Node &node,
                           int64_t opset, ArrayRef<Value> inputs,
                           const TensorReader &tensors)
    : node(node), opset(opset), tensors(tensors), builder(builder), loc(loc),
      inputs(inputs), results(node.outputs.size()) {}

//===- Errors
//--------------------------------------------------------------===//

LogicalResult NodeImporter::invalid(const std::string &message) {
  if (problem == Problem::None) {
    problem = Problem::Invalid;
    text = message;
  }
  return failure();
}

LogicalResult NodeImporter::unsupported(const std::string &message) {
  if (problem == Problem::None) {
    problem = Problem::Unsupported;
    text = message;
  }
  return failure();
}

LogicalResult NodeImporter::capture(std::string &message,
                                    llvm::function_ref<LogicalResult()> body) {
  ScopedDiagnosticHandler handler(builder.getContext(), [&](Diagnostic &diag) {
    if (message.empty())
      message = diag.str();
  });
  return body();
}

//===- Inputs and outputs
//--------------------------------------------------===//

void NodeImporter::setResult(unsigned i, Value value) {
  if (i < results.size())
    results[i] = value;
}

LogicalResult NodeImporter::done(Value value) {
  setResult(0, value);
  return status();
}

std::optional<Shape> NodeImporter::constantInput(unsigned i, StringRef what) {
  if (failed() || !has(i))
    return std::nullopt;
  Type element = elementOf(inputs[i]);
  if (!element.isInteger(32) && !element.isInteger(64)) {
    (void)invalid(cat("takes ", what, " as integers, not as ",
                      typeText(inputs[i].getType())));
    return std::nullopt;
  }
  if (rankOf(inputs[i]) > 1) {
    (void)invalid(cat("takes ", what, " as a list, not as ",
                      typeText(inputs[i].getType())));
    return std::nullopt;
  }
  std::optional<llvm::SmallVector<int64_t>> values = integerValues(inputs[i]);
  if (!values) {
    (void)unsupported(cat("takes ", what,
                          " from a value computed at run time; "
                          "only a constant is supported"));
    return std::nullopt;
  }
  return Shape(*values);
}

//===- Attributes
//----------------------------------------------------------===//

const NodeAttribute *NodeImporter::find(StringRef name) const {
  for (const NodeAttribute &attribute : node.attributes)
    if (attribute.name == name)
      return &attribute;
  return nullptr;
}

int64_t NodeImporter::intAttr(StringRef name, int64_t otherwise) const {
  const NodeAttribute *attribute = find(name);
  return attribute ? attribute->i : otherwise;
}

double NodeImporter::floatAttr(StringRef name, double otherwise) const {
  const NodeAttribute *attribute = find(name);
  return attribute ? attribute->f : otherwise;
}

StringRef NodeImporter::stringAttr(StringRef name, StringRef otherwise) const {
  const NodeAttribute *attribute = find(name);
  return attribute ? attribute->s : otherwise;
}

std::optional<Shape> NodeImporter::intsAttr(StringRef name) const {
  const NodeAttribute *attribute = find(name);
  if (!attribute)
    return std::nullopt;
  return Shape(attribute->ints);
}

std::optional<ArrayRef<float>> NodeImporter::floatsAttr(StringRef name) const {
  const NodeAttribute *attribute = find(name);
  if (!attribute)
    return std::nullopt;
  return attribute->floats;
}

const Tensor *NodeImporter::tensorAttr(StringRef name) const {
  const NodeAttribute *attribute = find(name);
  return attribute ? attribute->tensor.get() : nullptr;
}

std::optional<int64_t> NodeImporter::axis(int64_t value, int64_t limit) {
  if (value >= -limit && value < limit)
    return value < 0 ? value + limit : value;
  if (limit == 0)
    (void)invalid(cat("has axis ", value, " where a scalar has none"));
  else
    (void)invalid(
        cat("has axis ", value, ", outside ", -limit, " to ", limit - 1));
  return std::nullopt;
}

std::optional<Shape> NodeImporter::axes(ArrayRef<int64_t> values,
                                        int64_t limit) {
  Shape normal;
  for (int64_t value : values) {
    std::optional<int64_t> place = axis(value, limit);
    if (!place)
      return std::nullopt;
    if (llvm::is_contained(normal, *place)) {
      (void)invalid(cat("names axis ", *place, " twice in ", listText(values)));
      return std::nullopt;
    }
    normal.push_back(*place);
  }
  return normal;
}

//===- Building
//------------------------------------------------------------===//

bool NodeImporter::checkSize(ArrayRef<int64_t> shape) {
  std::string problem = shapeProblem(shape);
  if (problem.empty())
    return true;
  (void)invalid("makes a tensor that " + problem);
  return false;
}

void NodeImporter::describeVerifierFailure(Operation *op, StringRef message) {
  // "'pascaline.matmul' op inner dimensions differ": the node stands for the
  // op.
  StringRef name = op->getName().getStringRef();
  if (message.consume_front("'") && message.consume_front(name))
    (void)message.consume_front("' op ");
  if (!message.contains("must be")) {
    (void)invalid(message.str());
    return;
  }
  // ODS words a type constraint for those who wrote the op.
  std::string types;
  for (Value operand : op->getOperands())
    types += (types.empty() ? "" : ", ") + typeText(operand.getType());
  (void)unsupported("does not take element types as in " + types);
}

Value NodeImporter::finish(OperationState &state) {
  for (Type type : state.types)
    if (!checkSize(cast<RankedTensorType>(type).getShape()))
      return {};
  Operation *op = builder.create(state);
  std::string message;
  if (mlir::failed(capture(message, [&] { return verify(op); }))) {
    describeVerifierFailure(op, message);
    op->erase();
    return {};
  }
  llvm::SmallVector<Value, 1> folded;
  if (succeeded(builder.tryFold(op, folded)) && !folded.empty()) {
    op->erase();
    return folded.front();
  }
  return op->getResult(0);
}

Value NodeImporter::reshape(Value x, ArrayRef<int64_t> shape) {
  if (failed() || shapeOf(x) == shape)
    return x;
  return createTyped<ReshapeOp>(RankedTensorType::get(shape, elementOf(x)), x);
}

Value NodeImporter::broadcast(Value x, ArrayRef<int64_t> shape) {
  if (failed() || shapeOf(x) == shape || !checkSize(shape))
    return x;
  return createTyped<BroadcastOp>(RankedTensorType::get(shape, elementOf(x)),
                                  x);
}

Value NodeImporter::castTo(Value x, Type element) {
  if (failed() || elementOf(x) == element)
    return x;
  return createTyped<CastOp>(RankedTensorType::get(shapeOf(x), element), x);
}

Value NodeImporter::transpose(Value x, ArrayRef<int64_t> perm) {
  bool moves = false;
  for (auto [i, p] : llvm::enumerate(perm))
    moves |= p != static_cast<int64_t>(i);
  return moves ? create<TransposeOp>(x, perm) : x;
}

Value NodeImporter::slice(Value x, ArrayRef<int64_t> starts,
                          ArrayRef<int64_t> steps, ArrayRef<int64_t> sizes) {
  if (failed())
    return {};
  bool whole = shapeOf(x) == sizes;
  for (auto [start, step] : llvm::zip(starts, steps))
    whole &= start == 0 && step == 1;
  return whole ? x : create<SliceOp>(x, starts, steps, sizes);
}

Value NodeImporter::sliceAxis(Value x, int64_t axis, int64_t start,
                              int64_t size, int64_t step) {
  if (failed())
    return {};
  Shape starts(rankOf(x), 0), steps(rankOf(x), 1), sizes(shapeOf(x));
  starts[axis] = start;
  steps[axis] = step;
  sizes[axis] = size;
  return slice(x, starts, steps, sizes);
}

Value NodeImporter::concat(ArrayRef<Value> parts, int64_t axis) {
  return create<ConcatOp>(ValueRange(parts), axis);
}

Value NodeImporter::gather(Value x, Value indices, int64_t axis) {
  return create<GatherOp>(x, indices, axis);
}

Value NodeImporter::pad(Value x, ArrayRef<int64_t> low, ArrayRef<int64_t> high,
                        Value fill) {
  auto nothing = [](ArrayRef<int64_t> counts) {
    return llvm::all_of(counts, [](int64_t n) { return n == 0; });
  };
  if (failed() || (nothing(low) && nothing(high)))
    return x;
  return create<PadOp>(PadMode::constant, x, fill ? fill : scalarLike(0, x),
                       low, high);
}

Value NodeImporter::add(Value a, Value b) { return create<AddOp>(a, b); }
Value NodeImporter::sub(Value a, Value b) { return create<SubOp>(a, b); }
Value NodeImporter::mul(Value a, Value b) { return create<MulOp>(a, b); }
Value NodeImporter::div(Value a, Value b) { return create<DivOp>(a, b); }
Value NodeImporter::max(Value a, Value b) { return create<MaxOp>(a, b); }
Value NodeImporter::min(Value a, Value b) { return create<MinOp>(a, b); }
Value NodeImporter::select(Value condition, Value a, Value b) {
  return create<SelectOp>(condition, a, b);
}

Value NodeImporter::reduceSum(Value x, ArrayRef<int64_t> axes) {
  if (failed() || axes.empty())
    return x;
  return create<ReduceOp>(ReduceKind::sum, x, axes);
}

Value NodeImporter::reduceMean(Value x, ArrayRef<int64_t> axes) {
  if (failed())
    return {};
  int64_t count = 1;
  for (int64_t axis : axes)
    count *= shapeOf(x)[axis];
  Value sum = reduceSum(x, axes);
  // Integers truncate after the sum; over nothing the mean is 0 / 0.
  if (!isFloat(x) || count == 0)
    return div(sum, scalarLike(count, x));
  return count == 1 ? sum : mul(sum, scalarLike(1.0 / count, x));
}

Value NodeImporter::scalar(double value, Type element) {
  return splat(value, element, {});
}

Value NodeImporter::scalarLike(double value, Value like) {
  return failed() ? Value() : scalar(value, elementOf(like));
}

Value NodeImporter::splat(double value, Type element, ArrayRef<int64_t> shape) {
  if (failed() || !checkSize(shape))
    return {};
  Attribute attribute;
  if (isa<FloatType>(element))
    attribute = FloatAttr::get(element, value);
  else
    attribute = IntegerAttr::get(
        element, APInt(element.getIntOrFloatBitWidth(),
                       static_cast<uint64_t>(static_cast<int64_t>(value))));
  return constant(
      DenseElementsAttr::get(RankedTensorType::get(shape, element), attribute));
}

Value NodeImporter::integers(ArrayRef<int64_t> values,
                             ArrayRef<int64_t> shape) {
  if (failed())
    return {};
  auto type = RankedTensorType::get(shape, builder.getI64Type());
  ArrayRef<char> bytes(reinterpret_cast<const char *>(values.data()),
                       values.size() * sizeof(int64_t));
  return constant(makeElements(type, bytes));
}

Value NodeImporter::floats(ArrayRef<double> values, ArrayRef<int64_t> shape,
                           Type element) {
  if (failed())
    return {};
  llvm::SmallVector<char> bytes;
  for (double value : values) {
    // FloatAttr rounds to the element type.
    uint64_t bits = FloatAttr::get(element, value)
                        .getValue()
                        .bitcastToAPInt()
                        .getZExtValue();
    const char *low = reinterpret_cast<const char *>(&bits);
    bytes.append(low, low + pascaline::elementBytes(element));
  }
  return constant(makeElements(RankedTensorType::get(shape, element), bytes));
}

Value NodeImporter::constant(ElementsAttr value) {
  return create<ConstantOp>(value);
}

Value NodeImporter::iota(int64_t n, int64_t axis, int64_t rank, Type element) {
  Shape shape(rank, 1);
  shape[axis] = n;
  if (n > kMadeBytes / 8) {
    (void)invalid(
        cat("makes ", n, " indices, more than the limit of ", kMadeBytes / 8));
    return {};
  }
  Shape values;
  for (int64_t i = 0; i < n; ++i)
    values.push_back(i);
  return castTo(integers(values, shape), element);
}

Value NodeImporter::widen(Value x) {
  if (failed())
    return {};
  Type element = elementOf(x);
  return element.isF16() || element.isBF16() ? castTo(x, builder.getF32Type())
                                             : x;
}

Value NodeImporter::narrow(Value x, Value like) {
  return failed() ? Value() : castTo(x, elementOf(like));
}

std::optional<int64_t> checkedProduct(int64_t a, int64_t b) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product))
    return std::nullopt;
  return product;
}

} // namespace pascaline::importer
