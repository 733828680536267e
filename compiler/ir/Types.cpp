// Types.cpp - sizes of elements and tensors.
#include "compiler/ir/Types.h"

#include "compiler/ir/Layout.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <limits>

using namespace mlir;

namespace pascaline {

int64_t elementBytes(Type element) {
  return (element.getIntOrFloatBitWidth() + 7) / 8;
}

std::optional<int64_t> elementCount(llvm::ArrayRef<int64_t> shape) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  bool empty = false;
  int64_t count = 1;
  for (int64_t d : shape) {
    if (d < 0 || d > kMost)
      return std::nullopt;
    if (d == 0) {
      empty = true;
      continue;
    }
    // Both factors are below 2^31, so the product fits.
    count *= d;
    if (count > kMost)
      return std::nullopt;
  }
  return empty ? 0 : count;
}

int64_t countElements(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType()).getNumElements();
}

int64_t tensorBytes(RankedTensorType type) {
  return memoryLayout(type).elements * elementBytes(type.getElementType());
}

Type computeType(Type element) {
  if (element.isF16() || element.isBF16())
    return Float32Type::get(element.getContext());
  if (element.isUnsignedInteger())
    return IntegerType::get(element.getContext(),
                            element.getIntOrFloatBitWidth());
  return element;
}

std::string typeText(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    for (int64_t d : tensor.getShape())
      ShapedType::isDynamic(d) ? os << "?x" : os << d << 'x';
    type = tensor.getElementType();
  }
  os << type;
  return text;
}

} // namespace pascaline
