// Ops that combine the elements along axes.
#ifndef PASCALINE_IR_OPS_REDUCTION
#define PASCALINE_IR_OPS_REDUCTION

include "compiler/ir/ops/Contraction.td"
include "mlir/IR/EnumAttr.td"

def Pascaline_ReduceKind : I32EnumAttr<"ReduceKind", "how elements combine", [
    I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"prod", 1>,
    I32EnumAttrCase<"max", 2>, I32EnumAttrCase<"min", 3>]> {
  let cppNamespace = "::pascaline";
}

def Pascaline_ReduceOp : Pascaline_AnchorOp<"reduce"> {
  let summary = "combine the elements along axes; they stay, as 1";
  let description = [{
    Over no element: 0 (sum), 1 (prod), the lowest (max) or highest (min) value.
    max and min give NaN where an element is. The order is fixed.
    ```mlir
    %y = pascaline.reduce sum %x {axes = array<i64: 2, 3>} : tensor<1x64x7x7xf32>
    ```
  }];
  let arguments = (ins Pascaline_ReduceKind:$kind, Pascaline_NumberTensor:$x,
                       DenseI64ArrayAttr:$axes);
  let results = (outs Pascaline_NumberTensor:$y);
  let assemblyFormat = "$kind $x attr-dict `:` type($x)";
  let hasFolder = 1;
}

def Pascaline_SoftmaxOp : Pascaline_AnchorOp<"softmax"> {
  let summary = "exp(x - max) / sum of it along one axis, or its logarithm";
  let arguments = (ins Pascaline_FloatTensor:$x, I64Attr:$axis, UnitAttr:$log);
  let results = (outs Pascaline_FloatTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

#endif
