// Contractions and windows: the ops where the time goes.
#ifndef PASCALINE_IR_OPS_CONTRACTION
#define PASCALINE_IR_OPS_CONTRACTION

include "compiler/ir/Dialect.td"

class Pascaline_AnchorOp<string mnemonic, list<Trait> traits = []>
    : Pascaline_InferredOp<mnemonic,
        traits # [DeclareOpInterfaceMethods<AnchorOpInterface>]>;

def Pascaline_MatMulOp : Pascaline_AnchorOp<"matmul"> {
  let summary = "y[..., m, n] = sum over k of a[..., m, k] * b[..., k, n]";
  let description = [{
    Both operands have rank 2 or more; leading (batch) dimensions broadcast.
    `transpose_a` (`transpose_b`) reads a (b) with its last two dimensions
    swapped.
    ```mlir
    %y = pascaline.matmul %a, %b {transpose_b}
        : tensor<8x64x32xf32>, tensor<16x32xf32>
    ```
  }];
  let arguments = (ins Pascaline_FloatTensor:$a, Pascaline_FloatTensor:$b,
                       UnitAttr:$transpose_a, UnitAttr:$transpose_b);
  let results = (outs Pascaline_FloatTensor:$y);
  let assemblyFormat = "$a `,` $b attr-dict `:` type($a) `,` type($b)";
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}

def Pascaline_ConvOp : Pascaline_AnchorOp<"conv"> {
  let summary = "convolution (cross-correlation) with zero padding";
  let description = [{
    x is [n, c, spatial...], w is [m, c / groups, window...], y is
    [n, m, spatial...] with spatial = floor((in + begin + end
    - dilation * (window - 1) - 1) / stride) + 1. Spatial rank 1 to 3. A bias is an `add`.
    ```mlir
    %y = pascaline.conv %x, %w {strides = array<i64: 2, 2>,
        dilations = array<i64: 1, 1>, pads_begin = array<i64: 3, 3>,
        pads_end = array<i64: 3, 3>, groups = 1 : i64}
        : tensor<1x3x224x224xf32>, tensor<64x3x7x7xf32>
    ```
  }];
  let arguments = (ins Pascaline_FloatTensor:$x, Pascaline_FloatTensor:$w,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$pads_begin, DenseI64ArrayAttr:$pads_end,
                       I64Attr:$groups);
  let results = (outs Pascaline_FloatTensor:$y);
  let assemblyFormat = "$x `,` $w attr-dict `:` type($x) `,` type($w)";
  let hasFolder = 1;
}

def Pascaline_MaxPoolOp : Pascaline_AnchorOp<"max_pool"> {
  let summary = "the largest element of each window; padding never wins";
  let description = [{
    As `conv`'s windows over [n, c, spatial...]; ONNX's ceil_mode is resolved at
    import into pads_end. NaN in a window gives NaN. A window wholly in
    the padding gives the type's lowest value.
  }];
  let arguments = (ins Pascaline_NumberTensor:$x, DenseI64ArrayAttr:$window,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$pads_begin, DenseI64ArrayAttr:$pads_end);
  let results = (outs Pascaline_NumberTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Pascaline_AvgPoolOp : Pascaline_AnchorOp<"avg_pool"> {
  let summary = "the mean of each window's elements that count";
  let description = [{
    pads_begin and pads_end are the windows' geometry; elements of the padding
    count in the divisor only up to counted_begin and counted_end from the
    edge (ONNX's count_include_pad; ceil_mode widens pads_end alone).
  }];
  let arguments = (ins Pascaline_FloatTensor:$x, DenseI64ArrayAttr:$window,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$pads_begin, DenseI64ArrayAttr:$pads_end,
                       DenseI64ArrayAttr:$counted_begin, DenseI64ArrayAttr:$counted_end);
  let results = (outs Pascaline_FloatTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

#endif
