// Constants.cpp - dense values, splats and resources behind one form: bytes.
//
// A resource is named after its bytes, so equal weights are one resource (CSE
// merges their constants) and two builds print the same names.
#include "compiler/ir/Constants.h"

#include "compiler/ir/Dialect.h"
#include "compiler/ir/Types.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinDialect.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

#include <cassert>
#include <cstring>

using namespace mlir;

namespace pascaline {

static bool isBool(Type element) { return element.isInteger(1); }

static bool allEqual(ArrayRef<char> bytes, size_t size) {
  return bytes.size() >= size && std::memcmp(bytes.data(), bytes.data() + size,
                                             bytes.size() - size) == 0;
}

static ElementsAttr makeDense(RankedTensorType type, ArrayRef<char> bytes) {
  if (!isBool(type.getElementType()))
    return DenseElementsAttr::getFromRawBuffer(type, bytes);
  SmallVector<bool> values;
  for (char byte : bytes)
    values.push_back(byte != 0);
  return DenseElementsAttr::get(type, values);
}

static ElementsAttr makeResource(RankedTensorType type, ArrayRef<char> bytes) {
  auto hash = llvm::xxh3_128bits(
      ArrayRef(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
  std::string name = "w" + llvm::utohexstr(hash.high64, true, 16) +
                     llvm::utohexstr(hash.low64, true, 16);
  auto *dialect = type.getContext()->getLoadedDialect<BuiltinDialect>();
  auto &manager =
      DenseResourceElementsHandle::getManagerInterface(type.getContext());
  if (auto *entry = manager.getBlobManager().lookup(name))
    if (const AsmResourceBlob *blob = entry->getBlob();
        blob && blob->getData() == bytes)
      return DenseResourceElementsAttr::get(
          type, DenseResourceElementsHandle(entry, dialect));
  return DenseResourceElementsAttr::get(
      type, name, HeapAsmResourceBlob::allocateAndCopyWithAlign(bytes, 64));
}

ElementsAttr makeElements(RankedTensorType type, ArrayRef<char> bytes) {
  int64_t size = elementBytes(type.getElementType());
  assert(int64_t(bytes.size()) == type.getNumElements() * size);
  if (type.getNumElements() > 0 && allEqual(bytes, size))
    return makeDense(type, bytes.take_front(size));
  if (int64_t(bytes.size()) <= kDenseBytes)
    return makeDense(type, bytes);
  return makeResource(type, bytes);
}

std::optional<SmallVector<char>> elementBytes(ElementsAttr value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return std::nullopt;
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    const AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    int64_t size = elementBytes(type.getElementType());
    if (!blob ||
        int64_t(blob->getData().size()) != type.getNumElements() * size)
      return std::nullopt;
    return SmallVector<char>(blob->getData());
  }
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense)
    return std::nullopt;
  SmallVector<char> bytes;
  if (isBool(type.getElementType())) {
    bytes.reserve(type.getNumElements());
    for (bool element : dense.getValues<bool>())
      bytes.push_back(element);
    return bytes;
  }
  ArrayRef<char> raw = dense.getRawData();
  if (!dense.isSplat())
    return SmallVector<char>(raw);
  bytes.reserve(raw.size() * type.getNumElements());
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    bytes.append(raw.begin(), raw.end());
  return bytes;
}

ElementsAttr constantValue(Value value) {
  auto constant = value ? value.getDefiningOp<ConstantOp>() : nullptr;
  return constant ? constant.getValue() : ElementsAttr();
}

std::optional<SmallVector<int64_t>> integerValues(Value value) {
  ElementsAttr elements = constantValue(value);
  auto integer = elements ? dyn_cast<IntegerType>(elements.getElementType())
                          : IntegerType();
  auto bytes = integer ? elementBytes(elements) : std::nullopt;
  if (!bytes)
    return std::nullopt;
  size_t size = elementBytes(integer);
  SmallVector<int64_t> values;
  for (size_t at = 0; at < bytes->size(); at += size) {
    uint64_t raw = 0;
    std::memcpy(&raw, bytes->data() + at, size);
    APInt bits(size * 8, raw);
    values.push_back(integer.isUnsigned() || integer.getWidth() == 1
                         ? int64_t(bits.getZExtValue())
                         : bits.getSExtValue());
  }
  return values;
}

std::optional<double> splatFloat(Value value) {
  auto dense = dyn_cast_or_null<DenseElementsAttr>(constantValue(value));
  if (!dense || !dense.isSplat() || !isa<FloatType>(dense.getElementType()))
    return std::nullopt;
  APFloat element = dense.getSplatValue<APFloat>();
  bool lossy;
  element.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lossy);
  return element.convertToDouble();
}

} // namespace pascaline
