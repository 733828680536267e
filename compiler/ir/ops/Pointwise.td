// Pointwise ops: y[i] = f(a[i], ...). Operands broadcast to the result's shape.
#ifndef PASCALINE_IR_OPS_POINTWISE
#define PASCALINE_IR_OPS_POINTWISE

include "compiler/ir/Dialect.td"
include "mlir/IR/EnumAttr.td"

class Pascaline_PointwiseOp<string mnemonic, list<Trait> traits = []>
    : Pascaline_InferredOp<mnemonic,
        traits # [DeclareOpInterfaceMethods<ScalarOpInterface>]> {
  let hasFolder = 1;
  // The same for all: the shape is the operands' broadcast (result element
  // bool for predicates, else the last operand's); a fold evaluates f.
  bit toBool = 0;
  let extraClassDefinition = [{
    ::mlir::OpFoldResult $cppClass::fold(FoldAdaptor adaptor) {
      return ::pascaline::detail::foldPointwise(*this, adaptor.getOperands());
    }
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *context, std::optional<::mlir::Location> location,
        Adaptor adaptor, ::llvm::SmallVectorImpl<::mlir::Type> &results) {
      return ::pascaline::detail::inferPointwise(
          location, adaptor.getOperands(), /*toBool=*/}] # toBool # [{, results);
    }
  }];
}

class Pascaline_UnaryOp<string mnemonic, string text,
                        Type tensor = Pascaline_FloatTensor>
    : Pascaline_PointwiseOp<mnemonic> {
  let summary = text;
  let arguments = (ins tensor:$x);
  let results = (outs tensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

class Pascaline_BinaryOp<string mnemonic, string text,
                         Type tensor = Pascaline_NumberTensor>
    : Pascaline_PointwiseOp<mnemonic> {
  let summary = text;
  let arguments = (ins tensor:$a, tensor:$b);
  let results = (outs tensor:$y);
  let assemblyFormat = "$a `,` $b attr-dict `:` type($a) `,` type($b)";
}

//===- One operand ---------------------------------------------------------===//

def Pascaline_NegOp : Pascaline_UnaryOp<"neg", "-x", Pascaline_NumberTensor>;
def Pascaline_AbsOp : Pascaline_UnaryOp<"abs", "|x|", Pascaline_NumberTensor>;
def Pascaline_SignOp : Pascaline_UnaryOp<"sign", "-1, 0 or 1; NaN stays NaN", Pascaline_NumberTensor>;
def Pascaline_ReluOp : Pascaline_UnaryOp<"relu", "x < 0 ? 0 : x; NaN stays NaN", Pascaline_NumberTensor>;
def Pascaline_ReciprocalOp : Pascaline_UnaryOp<"reciprocal", "1 / x">;
def Pascaline_SqrtOp : Pascaline_UnaryOp<"sqrt", "square root">;
def Pascaline_ExpOp : Pascaline_UnaryOp<"exp", "e to the x">;
def Pascaline_LogOp : Pascaline_UnaryOp<"log", "natural logarithm">;
def Pascaline_ErfOp : Pascaline_UnaryOp<"erf", "error function">;
def Pascaline_SigmoidOp : Pascaline_UnaryOp<"sigmoid", "1 / (1 + exp(-x))">;
def Pascaline_TanhOp : Pascaline_UnaryOp<"tanh", "hyperbolic tangent">;
def Pascaline_SinOp : Pascaline_UnaryOp<"sin", "sine of radians">;
def Pascaline_CosOp : Pascaline_UnaryOp<"cos", "cosine of radians">;
def Pascaline_AtanOp : Pascaline_UnaryOp<"atan", "arc tangent in radians">;
def Pascaline_FloorOp : Pascaline_UnaryOp<"floor", "largest integer not above x">;
def Pascaline_CeilOp : Pascaline_UnaryOp<"ceil", "smallest integer not below x">;
def Pascaline_RoundOp : Pascaline_UnaryOp<"round", "nearest integer, halves to even">;
def Pascaline_NotOp : Pascaline_UnaryOp<"not", "logical or bitwise complement", Pascaline_BitsTensor>;

class Pascaline_PredicateOp<string mnemonic, string text>
    : Pascaline_PointwiseOp<mnemonic> {
  let toBool = 1;
  let summary = text;
  let arguments = (ins Pascaline_FloatTensor:$x);
  let results = (outs Pascaline_BoolTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}
def Pascaline_IsNanOp : Pascaline_PredicateOp<"is_nan", "x is NaN">;
def Pascaline_IsInfOp : Pascaline_PredicateOp<"is_inf", "x is an infinity of an asked sign"> {
  let arguments = (ins Pascaline_FloatTensor:$x, BoolAttr:$positive, BoolAttr:$negative);
}

def Pascaline_CastOp
    : Pascaline_Op<"cast", [SameOperandsAndResultShape,
                            DeclareOpInterfaceMethods<ScalarOpInterface>]> {
  let summary = "the same number in another element type";
  let description = [{
    Float to integer truncates towards zero and saturates (NaN gives 0; ONNX
    leaves both undefined); integer to narrower integer keeps the low bits; to
    bool is x != 0.
  }];
  let arguments = (ins Pascaline_Tensor:$x);
  let results = (outs Pascaline_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($y)";
  let hasFolder = 1;
  let extraClassDefinition = [{
    ::mlir::OpFoldResult $cppClass::fold(FoldAdaptor adaptor) {
      return ::pascaline::detail::foldPointwise(*this, adaptor.getOperands());
    }
  }];
}

//===- Two operands --------------------------------------------------------===//

def Pascaline_AddOp : Pascaline_BinaryOp<"add", "a + b">;
def Pascaline_SubOp : Pascaline_BinaryOp<"sub", "a - b">;
def Pascaline_MulOp : Pascaline_BinaryOp<"mul", "a * b">;
def Pascaline_DivOp : Pascaline_BinaryOp<"div", "a / b; integers truncate, x / 0 is 0, INT_MIN / -1 wraps">;
def Pascaline_PowOp : Pascaline_BinaryOp<"pow", "a to the b">;
def Pascaline_MaxOp : Pascaline_BinaryOp<"max", "the larger; NaN if either is">;
def Pascaline_MinOp : Pascaline_BinaryOp<"min", "the smaller; NaN if either is">;
def Pascaline_ModOp : Pascaline_BinaryOp<"mod", "remainder with the divisor's sign (ONNX Mod, fmod = 0)">;
def Pascaline_FmodOp : Pascaline_BinaryOp<"fmod", "remainder with the dividend's sign (C's fmod)">;
def Pascaline_AndOp : Pascaline_BinaryOp<"and", "logical or bitwise and", Pascaline_BitsTensor>;
def Pascaline_OrOp : Pascaline_BinaryOp<"or", "logical or bitwise or", Pascaline_BitsTensor>;
def Pascaline_XorOp : Pascaline_BinaryOp<"xor", "logical or bitwise exclusive or", Pascaline_BitsTensor>;
def Pascaline_ShiftLeftOp : Pascaline_BinaryOp<"shift_left", "a << b; 0 when b is at least the width", Pascaline_BitsTensor>;
def Pascaline_ShiftRightOp : Pascaline_BinaryOp<"shift_right", "a >> b, logical; 0 when b is at least the width", Pascaline_BitsTensor>;

def Pascaline_ComparePredicate : I32EnumAttr<"ComparePredicate", "an order", [
    I32EnumAttrCase<"eq", 0>, I32EnumAttrCase<"ne", 1>,
    I32EnumAttrCase<"lt", 2>, I32EnumAttrCase<"le", 3>,
    I32EnumAttrCase<"gt", 4>, I32EnumAttrCase<"ge", 5>]> {
  let cppNamespace = "::pascaline";
}

def Pascaline_CompareOp : Pascaline_PointwiseOp<"compare"> {
  let toBool = 1;
  let summary = "whether a and b stand in an order; false with NaN, but for ne";
  let arguments = (ins Pascaline_ComparePredicate:$predicate,
                       Pascaline_Tensor:$a, Pascaline_Tensor:$b);
  let results = (outs Pascaline_BoolTensor:$y);
  let assemblyFormat = "$predicate $a `,` $b attr-dict `:` type($a) `,` type($b)";
}

//===- Three operands ------------------------------------------------------===//

def Pascaline_SelectOp : Pascaline_PointwiseOp<"select"> {
  let summary = "condition ? a : b";
  let arguments = (ins Pascaline_BoolTensor:$condition,
                       Pascaline_Tensor:$a, Pascaline_Tensor:$b);
  let results = (outs Pascaline_Tensor:$y);
  let assemblyFormat = [{
    $condition `,` $a `,` $b attr-dict
    `:` type($condition) `,` type($a) `,` type($b)
  }];
}

#endif
