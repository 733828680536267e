// Ops that move elements and compute nothing.
#ifndef PASCALINE_IR_OPS_MOVEMENT
#define PASCALINE_IR_OPS_MOVEMENT

include "compiler/ir/ops/Contraction.td"
include "mlir/IR/EnumAttr.td"

def Pascaline_ConstantOp : Pascaline_InferredOp<"constant", [ConstantLike]> {
  let summary = "a tensor known at compile time";
  let description = [{
    Small values are `dense<...>`, large ones resources (elided in text, kept
    in bytecode); compiler/ir/Constants.h reads and makes both.
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Pascaline_Tensor:$y);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
}

def Pascaline_TransposeOp : Pascaline_InferredOp<"transpose"> {
  let summary = "y's dimension i is x's dimension perm[i]";
  let arguments = (ins Pascaline_Tensor:$x, DenseI64ArrayAttr:$perm);
  let results = (outs Pascaline_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}

def Pascaline_ReshapeOp : Pascaline_Op<"reshape"> {
  let summary = "the same elements in row-major order under another shape";
  let arguments = (ins Pascaline_Tensor:$x);
  let results = (outs Pascaline_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($y)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Pascaline_RelayoutOp : Pascaline_Op<"relayout"> {
  let summary = "the same tensor, lying otherwise in memory";
  let description = [{
    x and y differ in their encoding alone. In a group, between a block argument
    or a yielded value and the rest of the body, it costs nothing: it says how
    the kernel addresses that tensor. The body computes on plain tensors.
    ```mlir
    %y = pascaline.relayout %x : tensor<1x8x4x4xf32,
        #pascaline.layout<order = [0, 2, 3, 1]>> -> tensor<1x8x4x4xf32>
    ```
  }];
  let arguments = (ins Pascaline_Tensor:$x);
  let results = (outs Pascaline_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($y)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Pascaline_BroadcastOp : Pascaline_Op<"broadcast"> {
  let summary = "x repeated numpy's way to a larger shape";
  let arguments = (ins Pascaline_Tensor:$x);
  let results = (outs Pascaline_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($y)";
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
  let hasVerifier = 1;
}

def Pascaline_SliceOp : Pascaline_InferredOp<"slice"> {
  let summary = "y[i...] = x[starts + i * steps]; steps may be negative";
  let description = [{
    One start, step and size a dimension, all resolved: every element read lies
    inside x.
  }];
  let arguments = (ins Pascaline_Tensor:$x, DenseI64ArrayAttr:$starts,
                       DenseI64ArrayAttr:$steps, DenseI64ArrayAttr:$sizes);
  let results = (outs Pascaline_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasFolder = 1;
}

def Pascaline_ConcatOp : Pascaline_InferredOp<"concat",
    [DeclareOpInterfaceMethods<AnchorOpInterface>]> {
  let summary = "the inputs one after the other along an axis";
  let arguments = (ins Variadic<Pascaline_Tensor>:$inputs, I64Attr:$axis);
  let results = (outs Pascaline_Tensor:$y);
  let assemblyFormat = "$inputs attr-dict `:` type($inputs)";
  let hasFolder = 1;
}

def Pascaline_PadMode : I32EnumAttr<"PadMode", "what padding holds", [
    I32EnumAttrCase<"constant", 0>, I32EnumAttrCase<"edge", 1>,
    I32EnumAttrCase<"reflect", 2>, I32EnumAttrCase<"wrap", 3>]> {
  let cppNamespace = "::pascaline";
}

def Pascaline_PadOp : Pascaline_AnchorOp<"pad"> {
  let summary = "x with elements added around it";
  let description = [{
    low and high count the elements added before and after each dimension, none
    negative (negative ones become a slice at import). `fill`, of rank 0, is
    read in constant mode. reflect and wrap repeat as often as it takes.
    ```mlir
    %y = pascaline.pad constant %x, %fill {low = array<i64: 0, 0, 1, 1>,
        high = array<i64: 0, 0, 1, 1>} : tensor<1x3x8x8xf32>, tensor<f32>
    ```
  }];
  let arguments = (ins Pascaline_PadMode:$mode, Pascaline_Tensor:$x,
                       Pascaline_Tensor:$fill, DenseI64ArrayAttr:$low,
                       DenseI64ArrayAttr:$high);
  let results = (outs Pascaline_Tensor:$y);
  let assemblyFormat = "$mode $x `,` $fill attr-dict `:` type($x) `,` type($fill)";
  let hasFolder = 1;
}

def Pascaline_GatherOp : Pascaline_AnchorOp<"gather"> {
  let summary = "y = x taken along one axis at the indices";
  let description = [{
    y's shape is x's with dimension `axis` replaced by the indices' shape. A
    negative index counts from the end; one out of range is clamped to the
    nearest end (ONNX leaves it undefined; nothing outside x is read).
  }];
  let arguments = (ins Pascaline_Tensor:$x, Pascaline_IndexTensor:$indices,
                       I64Attr:$axis);
  let results = (outs Pascaline_Tensor:$y);
  let assemblyFormat = "$x `,` $indices attr-dict `:` type($x) `,` type($indices)";
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}

#endif
