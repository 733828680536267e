// MovementFolds.cpp - data movement that cancels or moves constants.
//
// Test: test/ir/fold-movement.mlir
#include "compiler/ir/Constants.h"
#include "compiler/ir/Dialect.h"
#include "compiler/ir/Shapes.h"
#include "compiler/ir/Types.h"
#include "compiler/ir/ops/Common.h"
#include "compiler/ir/ops/Evaluate.h"
#include "mlir/IR/BuiltinDialect.h"
#include "mlir/IR/DialectResourceBlobManager.h"

#include <cstring>

using namespace mlir;
using namespace pascaline::detail;

namespace pascaline {

namespace {
/// A constant and the bytes of its elements.
struct Source {
  SmallVector<char> bytes;
  size_t size = 0; ///< of one element
};
} // namespace

static std::optional<Source> sourceOf(Attribute value) {
  auto elements = dyn_cast_or_null<ElementsAttr>(value);
  auto bytes = elements ? elementBytes(elements) : std::nullopt;
  if (!bytes)
    return std::nullopt;
  return Source{std::move(*bytes),
                size_t(elementBytes(elements.getElementType()))};
}

/// Whether a constant operand may move into a result of `type`.
static bool mayMove(Attribute value, RankedTensorType type) {
  return value && !type.getEncoding() && type.getNumElements() <= kMostMoved;
}

/// A splat stays one, whatever its size, unless something else is mixed in.
static ElementsAttr resizeSplat(Attribute value, RankedTensorType type) {
  auto dense = dyn_cast_or_null<DenseElementsAttr>(value);
  if (!dense || !dense.isSplat() || type.getEncoding() ||
      type.getNumElements() == 0)
    return {};
  return dense.resizeSplat(type);
}

/// The elements at offset + sum(index[d] * strides[d]) for every index of
/// `type`, in order.
static ElementsAttr pick(const Source &source, RankedTensorType type,
                         int64_t offset, ArrayRef<int64_t> strides) {
  SmallVector<char> result;
  result.reserve(type.getNumElements() * source.size);
  Shape index(type.getRank(), 0);
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    const char *element = source.bytes.data() + offset * source.size;
    result.append(element, element + source.size);
    for (int64_t d = type.getRank(); d-- > 0;) {
      offset += strides[d];
      if (++index[d] < type.getDimSize(d))
        break;
      offset -= strides[d] * index[d];
      index[d] = 0;
    }
  }
  return makeElements(type, result);
}

OpFoldResult ConstantOp::fold(FoldAdaptor adaptor) { return getValue(); }

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  auto type = cast<RankedTensorType>(getType());
  auto perm = getPerm();
  if (getX().getType() == type &&
      llvm::is_sorted(perm)) // the identity is the only sorted permutation
    return getX();
  if (auto inner = getX().getDefiningOp<TransposeOp>()) {
    auto first = inner.getPerm();
    SmallVector<int64_t> both;
    for (int64_t d : perm)
      both.push_back(first[d]);
    setOperand(inner.getX());
    setPerm(both);
    return getResult();
  }
  if (auto splat = resizeSplat(adaptor.getX(), type))
    return splat;
  if (!mayMove(adaptor.getX(), type))
    return {};
  auto source = sourceOf(adaptor.getX());
  if (!source)
    return {};
  Shape own = rowMajorStrides(shapeOf(getX())), strides;
  for (int64_t d : perm)
    strides.push_back(own[d]);
  return pick(*source, type, 0, strides);
}

OpFoldResult RelayoutOp::fold(FoldAdaptor adaptor) {
  if (getX().getType() == getType())
    return getX();
  if (auto inner = getX().getDefiningOp<RelayoutOp>()) {
    setOperand(inner.getX());
    return getResult();
  }
  return {};
}

/// A resource or dense buffer in row-major order serves any shape.
OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  auto type = cast<RankedTensorType>(getType());
  if (getX().getType() == type)
    return getX();
  if (auto inner = getX().getDefiningOp<ReshapeOp>()) {
    setOperand(inner.getX());
    return getResult();
  }
  auto from = cast<RankedTensorType>(getX().getType());
  if (type.getEncoding() || from.getEncoding())
    return {};
  if (auto resource =
          dyn_cast_or_null<DenseResourceElementsAttr>(adaptor.getX()))
    return DenseResourceElementsAttr::get(type, resource.getRawHandle());
  if (auto dense = dyn_cast_or_null<DenseElementsAttr>(adaptor.getX()))
    return dense.reshape(type);
  return {};
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  auto type = cast<RankedTensorType>(getType());
  if (getX().getType() == type)
    return getX();
  if (auto inner = getX().getDefiningOp<BroadcastOp>()) {
    setOperand(inner.getX());
    return getResult();
  }
  if (auto splat = resizeSplat(adaptor.getX(), type))
    return splat;
  if (!mayMove(adaptor.getX(), type))
    return {};
  auto source = sourceOf(adaptor.getX());
  if (!source)
    return {};
  auto from = shapeOf(getX());
  Shape own = rowMajorStrides(from), strides(type.getRank(), 0);
  size_t offset = type.getRank() - from.size();
  for (size_t d = 0; d < from.size(); ++d)
    strides[offset + d] = from[d] == 1 ? 0 : own[d];
  return pick(*source, type, 0, strides);
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  auto type = cast<RankedTensorType>(getType());
  auto isOne = [](int64_t v) { return v == 1; };
  // As many elements from the start in steps of one are all of them.
  if (getX().getType() == type && llvm::all_of(getSteps(), isOne))
    return getX();
  if (auto splat = resizeSplat(adaptor.getX(), type))
    return splat;
  if (!mayMove(adaptor.getX(), type))
    return {};
  auto source = sourceOf(adaptor.getX());
  if (!source)
    return {};
  Shape strides = rowMajorStrides(shapeOf(getX()));
  int64_t offset = 0;
  for (auto [d, start] : llvm::enumerate(getStarts())) {
    offset += start * strides[d];
    strides[d] *= getSteps()[d];
  }
  return pick(*source, type, offset, strides);
}

OpFoldResult ConcatOp::fold(FoldAdaptor adaptor) {
  auto type = cast<RankedTensorType>(getType());
  if (getInputs().size() == 1 && getInputs()[0].getType() == type)
    return getInputs()[0];
  int64_t axis = getAxis();
  SmallVector<Source> sources;
  SmallVector<size_t> slabs; // bytes of each input an outer index
  for (auto [input, value] :
       llvm::zip_equal(getInputs(), adaptor.getInputs())) {
    if (!mayMove(value, type))
      return {};
    auto source = sourceOf(value);
    if (!source)
      return {};
    size_t slab = source->size;
    for (int64_t d : shapeOf(input).drop_front(axis))
      slab *= d;
    sources.push_back(std::move(*source));
    slabs.push_back(slab);
  }
  int64_t outer = 1;
  for (int64_t d : type.getShape().take_front(axis))
    outer *= d;
  SmallVector<char> result;
  for (int64_t i = 0; i < outer; ++i)
    for (auto [source, slab] : llvm::zip_equal(sources, slabs))
      result.append(source.bytes.begin() + i * slab,
                    source.bytes.begin() + (i + 1) * slab);
  return makeElements(type, result);
}

/// Where a padded index reads in a dimension of `size`; nothing: the fill.
static std::optional<int64_t> padSource(PadMode mode, int64_t i, int64_t size) {
  if (i >= 0 && i < size)
    return i;
  switch (mode) {
  case PadMode::constant:
    return std::nullopt;
  case PadMode::edge:
    return i < 0 ? 0 : size - 1;
  case PadMode::reflect: {
    if (size == 1)
      return 0;
    // Mirrored at both ends, the elements repeat after this many.
    int64_t period = 2 * (size - 1), phase = (i % period + period) % period;
    return std::min(phase, period - phase);
  }
  case PadMode::wrap:
    return (i % size + size) % size;
  }
  llvm_unreachable("every mode is above");
}

OpFoldResult PadOp::fold(FoldAdaptor adaptor) {
  auto type = cast<RankedTensorType>(getType());
  if (getX().getType() == type) // nothing was added
    return getX();
  if (!mayMove(adaptor.getX(), type) || !adaptor.getFill())
    return {};
  auto source = sourceOf(adaptor.getX()), fill = sourceOf(adaptor.getFill());
  if (!source || !fill)
    return {};
  auto shape = shapeOf(getX());
  Shape strides = rowMajorStrides(shape), index(type.getRank(), 0);
  SmallVector<char> result;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    std::optional<int64_t> at = 0;
    for (int64_t d = 0; at && d < type.getRank(); ++d) {
      auto own = padSource(getMode(), index[d] - getLow()[d], shape[d]);
      at = own ? std::optional(*at + *own * strides[d]) : std::nullopt;
    }
    const char *element =
        at ? source->bytes.data() + *at * source->size : fill->bytes.data();
    result.append(element, element + source->size);
    for (int64_t d = type.getRank();
         d-- > 0 && ++index[d] == type.getDimSize(d);)
      index[d] = 0;
  }
  return makeElements(type, result);
}

OpFoldResult GatherOp::fold(FoldAdaptor adaptor) {
  auto type = cast<RankedTensorType>(getType());
  if (!mayMove(adaptor.getX(), type) || !adaptor.getIndices())
    return {};
  auto source = sourceOf(adaptor.getX());
  auto indices = integerValues(getIndices());
  if (!source || !indices)
    return {};
  auto shape = shapeOf(getX());
  int64_t outer = 1, size = shape[getAxis()];
  size_t slab = source->size; // bytes below the axis
  for (int64_t d : shape.take_front(getAxis()))
    outer *= d;
  for (int64_t d : shape.drop_front(getAxis() + 1))
    slab *= d;
  SmallVector<char> result;
  for (int64_t i = 0; i < outer; ++i)
    for (int64_t index : *indices) {
      index =
          std::clamp<int64_t>(index < 0 ? index + size : index, 0, size - 1);
      const char *from = source->bytes.data() + (i * size + index) * slab;
      result.append(from, from + slab);
    }
  return makeElements(type, result);
}

} // namespace pascaline
