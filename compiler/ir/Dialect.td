// The graph dialect: base classes, tensor types and the layout encoding.
#ifndef PASCALINE_IR_DIALECT
#define PASCALINE_IR_DIALECT

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "compiler/ir/Interfaces.td"

def Pascaline_Dialect : Dialect {
  let name = "pascaline";
  let cppNamespace = "::pascaline";
  let summary = "A static graph of tensor operations, imported from ONNX";
  let description = [{
    Tensors have static shapes; an op has one meaning (ONNX's opset variants are
    resolved at import). Element types are MLIR's builtin ones: signless `iN`
    is ONNX's signed intN, `uiN` its unsigned one, `i1` its bool. An op's
    location is the ONNX node's name. Broadcasting is numpy's and implicit in
    pointwise ops and `matmul`'s batch dimensions, nowhere else.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
}

// Every graph op is pure: the graph is a value, and dead ops may go.
class Pascaline_Op<string mnemonic, list<Trait> traits = []>
    : Op<Pascaline_Dialect, mnemonic, traits # [Pure]>;

// An op whose result type follows from operands and attributes: the shape
// function is `inferReturnTypes`; the verifier compares with it too.
class Pascaline_InferredOp<string mnemonic, list<Trait> traits = []>
    : Pascaline_Op<mnemonic, traits # [
        InferTypeOpAdaptor]>;

def Pascaline_Float : AnyTypeOf<[F16, BF16, F32, F64], "float">;
def Pascaline_Integer
    : AnyTypeOf<[I8, I16, I32, I64, UI8, UI16, UI32, UI64], "integer">;
def Pascaline_Bool : TypeAlias<I1, "bool">;
def Pascaline_Number : AnyTypeOf<
    [F16, BF16, F32, F64, I8, I16, I32, I64, UI8, UI16, UI32, UI64], "number">;
def Pascaline_Element : AnyTypeOf<
    [F16, BF16, F32, F64, I8, I16, I32, I64, UI8, UI16, UI32, UI64, I1],
    "element">;

def Pascaline_Tensor : StaticShapeTensorOf<[Pascaline_Element]>;
def Pascaline_NumberTensor : StaticShapeTensorOf<[Pascaline_Number]>;
def Pascaline_FloatTensor : StaticShapeTensorOf<[Pascaline_Float]>;
def Pascaline_BoolTensor : StaticShapeTensorOf<[I1]>;
def Pascaline_BitsTensor : StaticShapeTensorOf<
    [I8, I16, I32, I64, UI8, UI16, UI32, UI64, I1]>;
def Pascaline_IndexTensor : StaticShapeTensorOf<[I32, I64]>;

def Pascaline_LayoutAttr : AttrDef<Pascaline_Dialect, "Layout",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "layout";
  let summary = "How a tensor lies in memory; absent means dense row-major";
  let description = [{
    - `order`: the dimensions from outermost to innermost.
    - `pack`: 0, or a factor: dimension `packed` is split into ceil(d / pack)
      slices at its place in `order` and `pack` neighbours become the innermost
      axis (NC4HW4: order [0, 1, 2, 3], packed 1, pack 4).
    - `halo`: a dimension's elements kept around it on both sides, zero.

    `#pascaline.layout<order = [0, 2, 3, 1]>` is an NCHW tensor stored as NHWC.
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t">:$order,
    DefaultValuedParameter<"int64_t", "0">:$packed,
    DefaultValuedParameter<"int64_t", "0">:$pack,
    OptionalArrayRefParameter<"int64_t">:$halo);
  let assemblyFormat = [{
    `<` struct(custom<IntegerList>($order), $packed, $pack,
               custom<IntegerList>($halo)) `>`
  }];
}

#endif
