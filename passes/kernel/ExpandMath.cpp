// ExpandMath - functions of one element to what sm_61 can compute.
//
// LLVM's NVPTX selects instructions for sqrt, floor, ceil, rounding, fma and
// absolute values, and has nothing for exp, log, pow, sine and the like, whose
// only other home would be NVIDIA's libdevice. They become arithmetic here, by
// the formulas of ScalarMath. The exact remainder is expanded too: LLVM's own
// expansion loses all bits when the quotient is large.
//
//   %y = math.exp %x : f32    ->    multiply-adds and a shifted exponent
//
// Test: test/passes/kernel/expand-math.mlir, test/compiler/MathTest.cpp

#include "passes/Passes.h"

#include "passes/kernel/ScalarMath.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace pascaline {
#define GEN_PASS_DEF_EXPANDMATH
#include "passes/Passes.h.inc"

namespace {

/// The function of `op` in what sm_61 computes; null for any other op.
Value expanded(Operation *op, ScalarMath &math) {
  // Those that LLVM selects an instruction for.
  auto native = [&](auto tag) -> Value {
    using LlvmOp = decltype(tag);
    return math.create<LlvmOp>(op->getResult(0).getType(), op->getOperands());
  };
  Value x = op->getOperand(0);
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<math::ExpOp>([&](auto) { return math.exp(x); })
      .Case<math::LogOp>([&](auto) { return math.log(x); })
      .Case<math::TanhOp>([&](auto) { return math.tanh(x); })
      .Case<math::ErfOp>([&](auto) { return math.erf(x); })
      .Case<math::SinOp>([&](auto) { return math.sin(x); })
      .Case<math::CosOp>([&](auto) { return math.cos(x); })
      .Case<math::AtanOp>([&](auto) { return math.atan(x); })
      .Case<math::PowFOp>([&](auto) { return math.pow(x, op->getOperand(1)); })
      .Case<arith::RemFOp>(
          [&](auto) { return math.fmod(x, op->getOperand(1)); })
      .Case<math::SqrtOp>([&](auto) { return native(LLVM::SqrtOp()); })
      .Case<math::FloorOp>([&](auto) { return native(LLVM::FFloorOp()); })
      .Case<math::CeilOp>([&](auto) { return native(LLVM::FCeilOp()); })
      .Case<math::RoundEvenOp>([&](auto) { return native(LLVM::RintOp()); })
      .Case<math::TruncOp>([&](auto) { return native(LLVM::FTruncOp()); })
      .Case<math::AbsFOp>([&](auto) { return native(LLVM::FAbsOp()); })
      .Case<math::FmaOp>([&](auto) { return native(LLVM::FMAOp()); })
      .Default([](Operation *) { return Value(); });
}

struct ExpandMath : impl::ExpandMathBase<ExpandMath> {
  void runOnOperation() override {
    // Not by the greedy driver: it would fold and move what generators have
    // put in an order of their own.
    SmallVector<Operation *> candidates;
    getOperation()->walk([&](Operation *op) {
      if (isa<math::MathDialect>(op->getDialect()) || isa<arith::RemFOp>(op))
        candidates.push_back(op);
    });
    for (Operation *op : candidates) {
      auto type = dyn_cast<FloatType>(op->getResult(0).getType());
      if (!type || !(type.isF32() || type.isF64())) {
        op->emitError() << "computes on " << op->getResult(0).getType()
                        << ", but kernels compute on f32 and f64 scalars; "
                           "convert before and after it";
        return signalPassFailure();
      }
      OpBuilder builder(op);
      ScalarMath math(op->getLoc(), builder, type);
      Value result = expanded(op, math);
      if (!result) {
        op->emitError() << "has no formula in passes/kernel/ExpandMath";
        return signalPassFailure();
      }
      op->getResult(0).replaceAllUsesWith(result);
      op->erase();
      ++numExpanded;
    }
  }
};

} // namespace
} // namespace pascaline
