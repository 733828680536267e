// Every pass of the compiler. One name, three spellings: FuseEpilogue is
// passes/graph/FuseEpilogue.cpp, --pascaline-fuse-epilogue and
// test/passes/graph/fuse-epilogue.mlir; .ci/check-pass-tests.sh holds them together.
#ifndef PASCALINE_PASSES
#define PASCALINE_PASSES

include "mlir/Pass/PassBase.td"

//===- Graph -> graph: passes/graph ----------------------------------------===//

def FoldBatchNorm : Pass<"pascaline-fold-batch-norm", "::mlir::func::FuncOp"> {
  let summary = "Fold per-channel scales and shifts into weights and one bias";
  let description = [{
    What follows a conv or matmul with constant weights and multiplies or adds
    constants that vary along its output channels alone goes into the weights
    (in double, rounded once) and one `add`.
    ```mlir
    %c = pascaline.conv %x, %w
    %s = pascaline.mul %c, %scale
    %y = pascaline.add %s, %shift
    // becomes
    %c = pascaline.conv %x, %w_times_scale
    %y = pascaline.add %c, %shift
    ```
  }];
  let statistics = [Statistic<"numFolded", "folded", "chains folded">];
}

def AbsorbPads : Pass<"pascaline-absorb-pads", "::mlir::func::FuncOp"> {
  let summary = "Make explicit padding the padding of the window op that reads it";
  let description = [{
    Zeros before a conv or avg_pool, and before a max_pool what never wins a
    window, become the op's own pads: the padded copy of the tensor goes. A
    transpose between the two moves above the pad.
  }];
  let statistics = [Statistic<"numAbsorbed", "absorbed", "pads absorbed">];
}

def AbsorbTransposes
    : Pass<"pascaline-absorb-transposes", "::mlir::func::FuncOp"> {
  let summary = "Cancel transposes against each other and into matmul's flags";
  let description = [{
    Ops that work alike in any order of dimensions run on transposed operands
    where that leaves the least to move in the whole function: a minimum cut.
    A swap of a matrix's dimensions becomes matmul's transpose_a or
    transpose_b, and a transposed constant is transposed here.
  }];
  let statistics = [Statistic<"numAbsorbed", "absorbed", "transposes absorbed">];
}

def FuseEpilogue : Pass<"pascaline-fuse-epilogue", "::mlir::func::FuncOp"> {
  let summary = "Put each anchor into a group with the pointwise ops that follow";
  let description = [{
    Every conv, matmul, pool, reduce, softmax, concat, pad and gather becomes a
    `pascaline.fused`. Whatever pointwise expression of its result has as many
    elements joins it, other operands becoming inputs of the group, as long as
    the group then has at most two results and no path leads from it back to
    it. An op that two anchors could take goes with the later.
  }];
  let statistics = [
    Statistic<"numGroups", "groups", "anchors grouped">,
    Statistic<"numFused", "fused", "ops that joined an anchor">];
}

def FusePrologue : Pass<"pascaline-fuse-prologue", "::mlir::func::FuncOp"> {
  let summary = "Pull views and cheap producers into the anchor that reads them";
  let description = [{
    A view is read in place, with strides, by any anchor; pointwise producers
    join anchors that read each element once or a few times (reduce, softmax,
    concat, pad, gather, pools without overlap).
  }];
  let statistics = [Statistic<"numFused", "fused", "producers pulled in">];
}

def FusePointwise : Pass<"pascaline-fuse-pointwise", "::mlir::func::FuncOp"> {
  let summary = "Group the pointwise ops and views that are left";
  let description = [{
    An anchor that has no group (fuse-epilogue was left out) gets one of its own.
    After it, the function holds groups, constants, reshapes (aliases of
    buffers) and the return alone.
  }];
  let statistics = [
    Statistic<"numGroups", "groups", "pointwise groups formed">,
    Statistic<"numFused", "fused", "ops that joined a group">];
}

def StoreHalf : Pass<"pascaline-store-half", "::mlir::func::FuncOp"> {
  let summary = "Store weights and intermediate tensors of groups as f16";
  let description = [{
    Types between groups become f16 and bodies stay f32: a `cast` widens what a
    group reads, another rounds what it stores, and both are part of the group's
    loads and stores. The function's own operands and results keep their types.
    Constants out of half's range, statistics, and what integers are made of
    stay float; so do small vectors, and what calibration marked as large with
    `pascaline.largest`.
    ```mlir
    %y = pascaline.fused(%x, %w) : (tensor<8x4xf32>, tensor<4x2xf16>) -> tensor<8x2xf16> {
    ^bb0(%0: tensor<8x4xf32>, %1: tensor<4x2xf16>):
      %2 = pascaline.cast %1 : tensor<4x2xf16> -> tensor<4x2xf32>
      %3 = pascaline.matmul %0, %2 : tensor<8x4xf32>, tensor<4x2xf32>
      %4 = pascaline.cast %3 : tensor<8x2xf32> -> tensor<8x2xf16>
      pascaline.yield %4 : tensor<8x2xf16>
    }
    ```
  }];
  let options = [Option<"keepFloat", "keep-fp32", "std::string", "\"\"",
                        "what nodes of a matching name read and write stays float">];
  let statistics = [
    Statistic<"numHalf", "half", "tensors stored as f16">,
    Statistic<"numFloat", "float", "f32 tensors that stay float">];
}

def AssignLayouts : Pass<"pascaline-assign-layouts", "::mlir::func::FuncOp"> {
  let summary = "Choose how each tensor between groups lies in memory";
  let description = [{
    What convolutions and pools make and groups alone read may have its channels
    packed by four or last, or a halo of zeros, where the model that picks the
    tiles of its readers says that this gains more than it costs. Groups store
    and read it so: no kernel is added.
    ```mlir
    %y = pascaline.fused(%x, %w) : (tensor<1x8x4x4xf32>, tensor<8x8x1x1xf32>)
        -> tensor<1x8x4x4xf32, #pascaline.layout<order = [0, 1, 2, 3],
                               packed = 1, pack = 4, halo = [0, 0, 1, 1]>> {
    ```
  }];
  let options = [Option<"chip", "chip", "std::string", "\"gtx1080ti\"",
                        "the card whose numbers guide the choice">];
  let statistics = [
    Statistic<"numPixels", "pixels", "tensors with a halo in row-major order">,
    Statistic<"numChannels", "channels", "tensors whose channels are innermost">];
}

//===- Graph -> plan: passes/plan ------------------------------------------===//

def FormLaunches : Pass<"pascaline-form-launches", "::mlir::ModuleOp"> {
  let summary = "Turn the fused graph into kernels and a list of launches";
  let description = [{
    Each function becomes a `plan.program` of its name and each group a
    `plan.launch`; groups that read the same share one `plan.kernel`. A group that depends on constants alone becomes an init launch.
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

def PlaceConcats : Pass<"pascaline-place-concats", "::mlir::ModuleOp"> {
  let summary = "Write a concat's operands where its result lies";
  let description = [{
    A launch that only joins its operands goes; what makes them writes into
    slices of the result. A concat whose operands begin another one, as in dense
    blocks, becomes a slice of that. It is done where no more memory lives for
    it, in the best order of launches that is found either way.
    ```mlir
    plan.launch @k(%x, %a)
    plan.launch @k(%x, %b)
    plan.launch @concat(%a, %b, %y) {joins}
    // becomes
    %a = plan.view %y {start = 0, bytes = 512}
    plan.launch @k(%x, %a)
    %b = plan.view %y {start = 512, bytes = 512}
    plan.launch @k(%x, %b)
    ```
  }];
  let statistics = [Statistic<"numPlaced", "placed", "concats without a kernel">];
}

def OrderLaunches : Pass<"pascaline-order-launches", "::mlir::ModuleOp"> {
  let summary = "Run launches in an order that needs a smaller arena";
  let description = [{
    The order stays where no smaller arena is found.
  }];
  let statistics = [Statistic<"numMoved", "moved", "launches at another place">];
}

def PlanMemory : Pass<"pascaline-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Give every buffer its place in weights, arena or counters";
  let description = [{
    Buffers of the arena that never live together may share bytes, and a result
    may take the place of an operand that its kernel reads in step and nothing
    reads after.
  }];
  let statistics = [
    Statistic<"numReplaced", "replaced", "results in an operand's place">,
    Statistic<"arenaBytes", "arena-bytes", "bytes of the arena">,
    Statistic<"lowerBound", "lower-bound", "largest sum of live bytes">];
}

def EmitPtx : Pass<"pascaline-emit-ptx", "::pascaline::plan::KernelOp"> {
  let summary = "Compile a lowered kernel to PTX for sm_61";
}

//===- Kernel generation and lowering: passes/kernel -----------------------===//

def ExpandMath : Pass<"pascaline-expand-math"> {
  let summary = "Compute exp, log, pow, sine and the like from what sm_61 has";
  let statistics = [
    Statistic<"numExpanded", "expanded", "functions expanded">];
  let dependentDialects = [
    "::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect",
    "::mlir::scf::SCFDialect"];
}

#endif
