// The graph dialect: base classes, tensor types and the layout encoding.
#ifndef PASCALINE_IR_DIALECT
#define PASCALINE_IR_DIALECT

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/TensorEncoding.td"
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
  // The shape functions run while an op is being parsed, when only the
  // dictionary holds its attributes yet.
  let usePropertiesForAttributes = 0;
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = [{
    /// Who listens to what passes decide (compiler/ir/Decisions.h), or null.
    ::pascaline::DecisionLog *decisions = nullptr;
  }];
}

// Every graph op is pure: the graph is a value, and dead ops may go.
class Pascaline_Op<string mnemonic, list<Trait> traits = []>
    : Op<Pascaline_Dialect, mnemonic, traits # [Pure]>;

// Adds `inferReturnTypes(context, location, adaptor, results)`, the shape
// function; the verifier compares with it too. Attributes and static shapes are
// checked before it runs, so that it may read them (an op being parsed may lack
// some).
def Pascaline_InferType : TraitList<[
  DeclareOpInterfaceMethods<InferTypeOpInterface>,
  NativeOpTrait<"InferTypeOpAdaptor", [], [{
    static ::llvm::LogicalResult inferReturnTypes(
        ::mlir::MLIRContext *context, std::optional<::mlir::Location> location,
        Adaptor adaptor, ::llvm::SmallVectorImpl<::mlir::Type> &results);
  }], [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *context, std::optional<::mlir::Location> location,
        ::mlir::ValueRange operands, ::mlir::DictionaryAttr attributes,
        ::mlir::OpaqueProperties properties, ::mlir::RegionRange regions,
        ::llvm::SmallVectorImpl<::mlir::Type> &results) {
      Adaptor adaptor(operands, attributes, properties, regions);
      if (::mlir::failed(adaptor.verify(
              location.value_or(::mlir::UnknownLoc::get(context)))) ||
          ::mlir::failed(::pascaline::detail::checkOperands(location, operands)))
        return ::mlir::failure();
      return inferReturnTypes(context, location, adaptor, results);
    }
  }]>
]>;

// An op whose result type follows from operands and attributes.
class Pascaline_InferredOp<string mnemonic, list<Trait> traits = []>
    : Pascaline_Op<mnemonic, traits # [Pascaline_InferType]>;

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

// "[0, 2, 3, 1]" in text.
def Pascaline_Integers : ArrayRefParameter<"int64_t"> {
  let parser = "::pascaline::detail::parseIntegers($_parser)";
  let printer = "::pascaline::detail::printIntegers($_printer, $_self)";
}
def Pascaline_OptionalIntegers : OptionalArrayRefParameter<"int64_t"> {
  let parser = "::pascaline::detail::parseIntegers($_parser)";
  let printer = "::pascaline::detail::printIntegers($_printer, $_self)";
}

def Pascaline_LayoutAttr : AttrDef<Pascaline_Dialect, "Layout",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "layout";
  let summary = "How a tensor lies in memory; absent means dense row-major";
  let description = [{
    - `order`: the dimensions from outermost to innermost.
    - `pack`: 0, or a factor: dimension `packed` is split into ceil(d / pack)
      slices at its place in `order` and `pack` neighbours become the innermost
      axis (NC4HW4: order [0, 1, 2, 3], packed 1, pack 4).
    - `halo`: a dimension's elements kept around it on both sides, zero; none
      for the packed dimension.

    `#pascaline.layout<order = [0, 2, 3, 1]>` is an NCHW tensor stored as NHWC.
  }];
  let parameters = (ins
    Pascaline_Integers:$order,
    DefaultValuedParameter<"int64_t", "0">:$packed,
    DefaultValuedParameter<"int64_t", "0">:$pack,
    Pascaline_OptionalIntegers:$halo);
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif
