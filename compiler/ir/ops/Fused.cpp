// Fused.cpp - what a group may hold.
//
// Test: test/ir/fused.mlir, test/ir/fused-invalid.mlir
#include "compiler/ir/Dialect.h"
#include "compiler/ir/Shapes.h"
#include "compiler/ir/Types.h"
#include "compiler/ir/ops/Common.h"

using namespace mlir;
using namespace pascaline::detail;

namespace pascaline {

void YieldOp::build(OpBuilder &builder, OperationState &state) {}

Operation *FusedOp::getAnchor() {
  for (Operation &op : getBody().front())
    if (isa<AnchorOpInterface>(op))
      return &op;
  return nullptr;
}

YieldOp FusedOp::getYield() {
  return cast<YieldOp>(getBody().front().getTerminator());
}

static LogicalResult checkTypes(FusedOp op, StringRef outer, TypeRange outside,
                                StringRef inner, TypeRange inside) {
  if (outside.size() != inside.size())
    return op.emitOpError() << "has " << outside.size() << ' ' << outer
                            << ", but " << inside.size() << ' ' << inner;
  for (auto [i, pair] : llvm::enumerate(llvm::zip_equal(outside, inside))) {
    auto [out, in] = pair;
    if (out != in)
      return op.emitOpError()
             << "number " << i << " of its " << outer << " is " << out
             << ", but that of its " << inner << " is " << in;
  }
  return success();
}

/// A constant in a body is a literal of the kernel's code.
static bool isLiteral(ConstantOp op) {
  return op.getValue().isSplat() || elementCount(shapeOf(op.getY())) == 1;
}

LogicalResult FusedOp::verify() {
  Block &body = getBody().front();
  if (failed(checkTypes(*this, "inputs", getInputs().getTypes(),
                        "block arguments", body.getArgumentTypes())))
    return failure();
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  if (!yield)
    return emitOpError("body must end in pascaline.yield");
  if (failed(checkTypes(*this, "results", getResultTypes(), "yielded values",
                        yield->getOperandTypes())))
    return failure();
  if (getNumResults() == 0)
    return emitOpError("yields nothing, so it would do nothing");

  Operation *anchor = nullptr;
  for (Operation &op : body.without_terminator()) {
    if (isa<AnchorOpInterface>(op)) {
      if (anchor) {
        InFlightDiagnostic error =
            emitOpError() << "has two anchors, " << anchor->getName() << " and "
                          << op.getName() << "; a kernel is made of one";
        error.attachNote(op.getLoc()) << "the second is here";
        return error;
      }
      anchor = &op;
    } else if (auto constant = dyn_cast<ConstantOp>(op)) {
      if (!isLiteral(constant))
        return emitOpError()
               << "holds a constant of " << shapeText(shapeOf(constant.getY()))
               << " with different elements; make it an input";
    } else if (!isa<ScalarOpInterface, TransposeOp, ReshapeOp, RelayoutOp,
                    BroadcastOp, SliceOp>(op)) {
      return emitOpError() << "holds " << op.getName()
                           << ", which is no anchor, pointwise op or view";
    }
  }

  Value first = anchor ? anchor->getResult(0) : yield.getOperand(0);
  for (Value value : yield.getOperands()) {
    auto count = elementCount(shapeOf(value));
    if (anchor ? count != elementCount(shapeOf(first))
               : shapeOf(value) != shapeOf(first))
      return emitOpError() << "yields " << shapeText(shapeOf(value)) << ", but "
                           << (anchor ? "its anchor makes "
                                      : "its first result is ")
                           << shapeText(shapeOf(first));
  }
  return success();
}

} // namespace pascaline
