// Constant.cpp - operators that make values out of nothing.
#include "compiler/import/OpTable.h"
#include "compiler/import/Text.h"
#include "compiler/import/ops/Common.h"
#include "compiler/ir/Constants.h"
#include "compiler/ir/Dialect.h"
#include "compiler/ir/Types.h"

#include <cmath>
#include <cstring>

using namespace mlir;

namespace pascaline::importer {
namespace {

// The value of a tensor attribute, or null and an error.
Value tensorValue(NodeImporter &n, const Tensor &tensor) {
  std::string reason;
  bool isUnsupported = false;
  if (ElementsAttr value = n.tensors.read(tensor, reason, isUnsupported))
    return n.constant(value);
  std::string name =
      tensor.name.empty() ? "" : " of name " + quoted(tensor.name);
  (void)(isUnsupported ? n.unsupported("its value" + name + ": " + reason)
                       : n.invalid("its value" + name + " " + reason));
  return {};
}

LogicalResult importConstant(NodeImporter &n) {
  if (n.node.attributes.size() != 1)
    return n.invalid(cat("has ", n.node.attributes.size(),
                         " attributes where one holds the value"));
  const NodeAttribute &value = n.node.attributes.front();
  auto count = [](size_t size) { return static_cast<int64_t>(size); };
  switch (value.kind) {
  case 't':
    return n.done(tensorValue(n, *value.tensor));
  case 'i':
    return n.done(n.integers({value.i}, {}));
  case 'I':
    return n.done(n.integers(value.ints, {count(value.ints.size())}));
  case 'f':
  case 'F': {
    llvm::SmallVector<double> values(value.floats);
    Shape shape{count(value.floats.size())};
    if (value.kind == 'f') {
      values = {value.f};
      shape.clear();
    }
    return n.done(n.floats(values, shape, n.builder.getF32Type()));
  }
  default:
    return n.unsupported("holds a " + printable(value.name) +
                         "; only numbers in dense form are supported");
  }
}

LogicalResult importConstantOfShape(NodeImporter &n) {
  auto shape = n.constantInput(0, "its shape");
  if (!shape)
    return failure();
  for (int64_t dim : *shape)
    if (dim < 0)
      return n.invalid(cat("makes a tensor of shape ", listText(*shape)));
  Value value = n.scalar(0, n.builder.getF32Type());
  if (const Tensor *given = n.tensorAttr("value"))
    value = tensorValue(n, *given);
  if (n.failed() || !n.checkSize(*shape))
    return failure();
  if (elementCount(shapeOf(value)) != 1)
    return n.invalid(cat("takes one value, not ", typeText(value.getType())));
  return n.done(n.broadcast(n.reshape(value, {}), *shape));
}

template <typename T> std::optional<T> scalarAs(Value value) {
  T result;
  ElementsAttr constant = constantValue(value);
  if (!constant)
    return std::nullopt;
  auto bytes = pascaline::elementBytes(constant);
  if (!bytes || bytes->size() != sizeof(T))
    return std::nullopt;
  std::memcpy(&result, bytes->data(), sizeof(T));
  return result;
}

// start, start + delta ... before limit, in T.
template <typename T> LogicalResult makeRange(NodeImporter &n) {
  auto start = scalarAs<T>(n.input(0)), limit = scalarAs<T>(n.input(1)),
       delta = scalarAs<T>(n.input(2));
  if (!start || !limit || !delta)
    return n.unsupported("makes a range that is known only at run time");
  if (!(*delta != 0))
    return n.invalid("has delta 0");
  // In long double every int64 is exact.
  long double steps = (static_cast<long double>(*limit) - *start) / *delta;
  steps = std::ceil(steps);
  if (!(steps <= static_cast<long double>(kMadeBytes / sizeof(T))))
    return n.invalid(cat("makes a range larger than the limit of ",
                         kMadeBytes / static_cast<int64_t>(sizeof(T)),
                         " elements"));
  int64_t count = steps > 0 ? static_cast<int64_t>(steps) : 0;
  llvm::SmallVector<char> bytes;
  bytes.resize_for_overwrite(count * sizeof(T));
  for (int64_t i = 0; i < count; ++i) {
    T value = static_cast<T>(*start + static_cast<T>(i) * *delta);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  return n.done(n.constant(makeElements(
      RankedTensorType::get({count}, elementOf(n.input(0))), bytes)));
}

LogicalResult importRange(NodeImporter &n) {
  Type element = elementOf(n.input(0));
  for (unsigned i = 0; i < 3; ++i)
    if (elementCount(shapeOf(n.input(i))) != 1 ||
        elementOf(n.input(i)) != element)
      return n.invalid(cat("takes three scalars of one type, not ",
                           typeText(n.input(i).getType())));
  if (element.isF32())
    return makeRange<float>(n);
  if (element.isF64())
    return makeRange<double>(n);
  if (element.isInteger(64))
    return makeRange<int64_t>(n);
  if (element.isInteger(32))
    return makeRange<int32_t>(n);
  if (element.isInteger(16))
    return makeRange<int16_t>(n);
  return n.unsupported("makes a range of " + typeText(element));
}

constexpr Arity kNone{0, 0}, kOne{1, 1};

const OpRow kRows[] = {
    {"Constant", 1, kNone, kOne, "value=t!", importConstant},
    {"Constant", 11, kNone, kOne, "value=t sparse_value=p", importConstant},
    {"Constant", 12, kNone, kOne,
     "value=t sparse_value=p value_float=f value_floats=F value_int=i "
     "value_ints=I value_string=s value_strings=S",
     importConstant},
    {"ConstantOfShape", 9, kOne, kOne, "value=t", importConstantOfShape},
    {"Range", 11, {3, 3}, kOne, "", importRange},
    {"Range", 27, {3, 3}, kOne, "stash_type=i", importRange},
};

} // namespace

ArrayRef<OpRow> constantRows() { return kRows; }

} // namespace pascaline::importer
