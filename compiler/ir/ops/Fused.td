// Groups: what becomes one kernel.
#ifndef PASCALINE_IR_OPS_FUSED
#define PASCALINE_IR_OPS_FUSED

include "compiler/ir/Dialect.td"

def Pascaline_FusedOp : Pascaline_Op<"fused", [
    IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "ops that become one kernel: an anchor, what feeds it, what follows";
  let description = [{
    The body holds ordinary graph ops over block arguments that stand for the
    inputs, small (splat or rank-0) constants among them, and yields the results. At most one op of the
    body is an anchor (AnchorOpInterface); everything else is pointwise or a
    view (transpose, reshape, relayout, broadcast, slice). All results have as many
    elements as the anchor's result or, without anchor, one common shape.
    ```mlir
    %y = pascaline.fused(%x, %w, %bias) : (tensor<8x4xf32>, tensor<4x2xf32>,
        tensor<2xf32>) -> tensor<8x2xf32> {
    ^bb0(%0: tensor<8x4xf32>, %1: tensor<4x2xf32>, %2: tensor<2xf32>):
      %3 = pascaline.matmul %0, %1 : tensor<8x4xf32>, tensor<4x2xf32>
      %4 = pascaline.add %3, %2 : tensor<8x2xf32>, tensor<2xf32>
      pascaline.yield %4 : tensor<8x2xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<Pascaline_Tensor>:$inputs);
  let results = (outs Variadic<Pascaline_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs) $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The op that decides the kernel family; null for a pointwise group.
    ::mlir::Operation *getAnchor();
    YieldOp getYield();
  }];
}

def Pascaline_YieldOp : Pascaline_Op<"yield", [
    Terminator, HasParent<"FusedOp">]> {
  let summary = "the results of a group";
  let arguments = (ins Variadic<Pascaline_Tensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), "">];
}

#endif
