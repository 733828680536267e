// pascaline-opt - run chosen passes over a .mlir file; the tests' workhorse.
//
// Beside each pass there is a flag for each pipeline of passes/Pipelines.h, and
// --decisions prints on stderr what the passes decided and why.

#include "compiler/ir/Decisions.h"
#include "compiler/ir/Dialect.h"
#include "compiler/ir/plan/PlanDialect.h"
#include "compiler/target/Ptx.h"
#include "passes/Passes.h"
#include "passes/Pipelines.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

#include "llvm/Support/CommandLine.h"

using namespace mlir;

int main(int argc, char **argv) {
  llvm::cl::opt<bool> wantsDecisions(
      "decisions",
      llvm::cl::desc("Print what passes decided about nodes, and why"));
  pascaline::DecisionLog decisions;
  pascaline::registerPascalinePasses();
  registerTransformsPasses();
  PassPipelineRegistration<>("pascaline-graph",
                             "graph to fused graph, every pass",
                             [](OpPassManager &pm) {
                               pascaline::PassChoice all;
                               pascaline::buildGraphPipeline(pm, all);
                             });
  PassPipelineRegistration<>(
      "pascaline-ptx", "fused graph to a plan whose kernels are PTX",
      [](OpPassManager &pm) {
        pascaline::PassChoice all;
        pascaline::buildPlanPipeline(pm, all, "gtx1080ti");
        OpPassManager &kernel = pm.nest<pascaline::plan::KernelOp>();
        pascaline::buildKernelLoweringPipeline(kernel.nest<ModuleOp>());
        kernel.addPass(pascaline::createEmitPtx());
      });
  DialectRegistry registry;
  pascaline::registerPtxTranslations(registry);
  registry.insert<pascaline::PascalineDialect, pascaline::plan::PlanDialect,
                  func::FuncDialect, arith::ArithDialect, math::MathDialect,
                  scf::SCFDialect, cf::ControlFlowDialect, LLVM::LLVMDialect,
                  NVVM::NVVMDialect>();
  decisions.listenTo(registry);
  int code = asMainReturnCode(MlirOptMain(
      argc, argv, "pascaline-opt: run passes over a graph\n", registry));
  if (wantsDecisions)
    decisions.print(llvm::errs());
  return code;
}
