// Lowering - a generated kernel to nothing but the llvm dialect.
//
// Generators mix arith, math, cf and scf with llvm and nvvm; emitPtx takes
// llvm and nvvm alone.
//
// Test: test/compiler/ContractionTest.cpp and every test in test/ptx

#include "passes/Passes.h"
#include "passes/Pipelines.h"

#include "mlir/Pass/Pass.h" // the conversion headers only declare it

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace pascaline {

void buildKernelLoweringPipeline(OpPassManager &pm) {
  // Functions first: some bring loops of their own.
  pm.addPass(createExpandMath());
  // Loops and ifs become blocks and branches.
  pm.addPass(createConvertSCFToCFPass());
  // Scalars, then the branches that carry them.
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}

} // namespace pascaline
