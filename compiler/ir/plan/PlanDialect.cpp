// PlanDialect.cpp - registration and verifiers of the plan dialect.
// Test: test/ir/plan-invalid.mlir

#include "compiler/ir/plan/PlanDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "compiler/ir/plan/PlanDialect.cpp.inc"
#include "compiler/ir/plan/PlanEnums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "compiler/ir/plan/PlanTypes.cpp.inc"

#define GET_OP_CLASSES
#include "compiler/ir/plan/PlanOps.cpp.inc"

using namespace mlir;

namespace pascaline::plan {

void PlanDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "compiler/ir/plan/PlanTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/ir/plan/PlanOps.cpp.inc"
      >();
}

LogicalResult BufferOp::verify() {
  if (getBytes() < 0)
    return emitOpError() << "holds " << getBytes() << " bytes";
  bool isIo = getKind() == BufferKind::input || getKind() == BufferKind::output;
  if (isIo != getIndex().has_value())
    return emitOpError() << "needs an index exactly when it is an input or an "
                            "output";
  if ((getKind() == BufferKind::weights) != getValue().has_value())
    return emitOpError() << "needs a value exactly when it is of weights";
  return success();
}

LogicalResult LaunchOp::verify() {
  if (getAccess().size() != getBuffers().size())
    return emitOpError() << "has " << getBuffers().size() << " buffers and "
                         << getAccess().size() << " accesses";
  if (getGrid().size() != 3)
    return emitOpError() << "has a grid of " << getGrid().size()
                         << " dimensions, not 3";
  // sm_61's limits: CUDA C++ Programming Guide, "Compute Capabilities".
  constexpr int64_t kLimits[3] = {2147483647, 65535, 65535};
  for (auto [extent, limit] : llvm::zip(getGrid(), kLimits))
    if (extent < 1 || extent > limit)
      return emitOpError() << "has a grid extent of " << extent
                           << ", not in 1.." << limit;
  return success();
}

} // namespace pascaline::plan
