// FloatValues.cpp - float constants as doubles.
#include "passes/graph/FloatValues.h"

#include "compiler/ir/Constants.h"
#include "compiler/ir/Types.h"

#include <cstring>

using namespace mlir;

namespace pascaline {

std::optional<std::vector<double>> floatValues(ElementsAttr value) {
  auto element = value ? dyn_cast<FloatType>(value.getElementType()) : nullptr;
  auto bytes = element ? elementBytes(value) : std::nullopt;
  if (!bytes)
    return std::nullopt;
  size_t size = elementBytes(element);
  std::vector<double> values(bytes->size() / size);
  for (size_t i = 0; i < values.size(); ++i) {
    if (element.isF32()) { // almost all of them
      float number;
      std::memcpy(&number, bytes->data() + i * size, size);
      values[i] = number;
      continue;
    }
    uint64_t raw = 0;
    std::memcpy(&raw, bytes->data() + i * size, size);
    APFloat number(element.getFloatSemantics(), APInt(size * 8, raw));
    bool lossy;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lossy);
    values[i] = number.convertToDouble();
  }
  return values;
}

ElementsAttr makeFloats(RankedTensorType type, ArrayRef<double> values) {
  auto element = cast<FloatType>(type.getElementType());
  size_t size = elementBytes(element);
  SmallVector<char> bytes(values.size() * size);
  for (size_t i = 0; i < values.size(); ++i) {
    APFloat number(values[i]);
    bool lossy;
    number.convert(element.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                   &lossy);
    if (!number.isFinite())
      return {};
    uint64_t raw = number.bitcastToAPInt().getZExtValue();
    std::memcpy(bytes.data() + i * size, &raw, size);
  }
  return makeElements(type, bytes);
}

} // namespace pascaline
