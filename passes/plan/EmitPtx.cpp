// EmitPtx - a kernel in the llvm dialect becomes PTX text on its plan.kernel.
//
// Runs on each kernel by itself, so the pass manager runs kernels side by side.
//
// Test: test/passes/plan/emit-ptx.mlir

#include "passes/Passes.h"

#include "compiler/ir/plan/PlanDialect.h"
#include "compiler/target/Ptx.h"

using namespace mlir;

namespace pascaline {
#define GEN_PASS_DEF_EMITPTX
#include "passes/Passes.h.inc"

namespace {

struct EmitPtx : impl::EmitPtxBase<EmitPtx> {
  void runOnOperation() override {
    plan::KernelOp kernel = getOperation();
    FailureOr<std::string> ptx = emitPtx(kernel.getKernelModule());
    if (failed(ptx))
      return signalPassFailure();
    kernel.setPtx(*ptx);
  }
};

} // namespace
} // namespace pascaline
