// Every pass of the compiler. One name, three spellings: FuseEpilogue is
// passes/graph/FuseEpilogue.cpp, --pascaline-fuse-epilogue and
// test/passes/graph/fuse-epilogue.mlir; .ci/check-pass-tests.sh holds them together.
#ifndef PASCALINE_PASSES
#define PASCALINE_PASSES

include "mlir/Pass/PassBase.td"

//===- Graph -> graph: passes/graph ----------------------------------------===//

//===- Graph -> plan: passes/plan ------------------------------------------===//

def FormLaunches : Pass<"pascaline-form-launches", "::mlir::ModuleOp"> {
  let summary = "Turn the fused graph into kernels and a list of launches";
  let description = [{
    Each group of `@main` becomes a `plan.launch`; groups that read the same
    share one `plan.kernel`. A group that depends on constants alone becomes an init launch.
  }];
  let options = [Option<"chip", "chip", "std::string", "\"gtx1080ti\"",
                        "the card whose numbers guide the choice of tiles">];
  let statistics = [
    Statistic<"numLaunches", "launches", "launches formed">,
    Statistic<"numKernels", "kernels", "distinct kernels generated">];
  let dependentDialects = [
    "::pascaline::plan::PlanDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::cf::ControlFlowDialect"];
}

def PlanMemory : Pass<"pascaline-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Give every buffer its place in weights, arena or counters";
  let description = [{
    Buffers of the arena that never live together may share bytes.
  }];
  let statistics = [
    Statistic<"arenaBytes", "arena-bytes", "bytes of the arena">,
    Statistic<"lowerBound", "lower-bound", "largest sum of live bytes">];
}

def EmitPtx : Pass<"pascaline-emit-ptx", "::pascaline::plan::KernelOp"> {
  let summary = "Compile a lowered kernel to PTX for sm_61";
}

//===- Kernel generation and lowering: passes/kernel -----------------------===//

#endif
