// Dialect.cpp - registration of the graph dialect and its layout attribute.
#include "compiler/ir/Dialect.h"

#include "compiler/ir/ops/Common.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;

#include "compiler/ir/Dialect.cpp.inc"
#include "compiler/ir/Enums.cpp.inc"
#include "compiler/ir/Interfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/ir/Attributes.cpp.inc"

#define GET_OP_CLASSES
#include "compiler/ir/Ops.cpp.inc"

namespace pascaline {

void PascalineDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/ir/Attributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/ir/Ops.cpp.inc"
      >();
}

Operation *PascalineDialect::materializeConstant(OpBuilder &builder,
                                                 Attribute value, Type type,
                                                 Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return builder.create<ConstantOp>(loc, elements);
}

LogicalResult
LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type element,
                           function_ref<InFlightDiagnostic()> emitError) const {
  int64_t rank = shape.size();
  auto order = getOrder();
  SmallVector<bool> seen(rank, false);
  if (int64_t(order.size()) != rank)
    return emitError() << "layout orders " << order.size()
                       << " dimensions, the tensor has " << rank;
  for (int64_t d : order) {
    if (d < 0 || d >= rank || seen[d])
      return emitError()
             << "layout order must name each of the dimensions 0 to "
             << rank - 1 << " once, but " << d
             << (d < 0 || d >= rank ? " is none" : " comes twice");
    seen[d] = true;
  }
  if (getPack() < 0 || getPack() > 64)
    return emitError() << "layout pack must be 0 to 64, but is " << getPack();
  if (getPack() == 0 ? getPacked() != 0
                     : getPacked() < 0 || getPacked() >= rank)
    return emitError() << "layout packs dimension " << getPacked() << " by "
                       << getPack() << ", the tensor has rank " << rank;
  auto halo = getHalo();
  if (!halo.empty() && int64_t(halo.size()) != rank)
    return emitError() << "layout has a halo for " << halo.size()
                       << " dimensions, the tensor has " << rank;
  for (int64_t h : halo)
    if (h < 0 || h > std::numeric_limits<int16_t>::max())
      return emitError() << "layout halo must be 0 to 32767, but is " << h;
  if (getPack() > 0 && !halo.empty() && halo[getPacked()] != 0)
    return emitError() << "layout packs dimension " << getPacked()
                       << " and gives it a halo of " << halo[getPacked()]
                       << "; a packed dimension has none";
  return success();
}

} // namespace pascaline
