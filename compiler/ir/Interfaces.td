// What passes and kernel generators ask of ops.
#ifndef PASCALINE_IR_INTERFACES
#define PASCALINE_IR_INTERFACES

include "mlir/IR/OpBase.td"

def ScalarOpInterface : OpInterface<"ScalarOpInterface"> {
  let cppNamespace = "::pascaline";
  let description = [{
    A pointwise op: y[i] = f(a[i], b[i], ...), operands broadcast numpy's way.
    f is written once, here: kernel generators call it for prologues, bodies
    and epilogues, and folders call it with constants.
  }];
  let methods = [
    InterfaceMethod<
      /*desc=*/[{
        Emits f with arith and math ops. Operands and result have the compute
        type of the op's element types (see computeType): f16 and bf16 are
        computed in f32, unsigned integers are signless here and the op's own
        type says how to read them.
      }],
      "::mlir::Value", "emitScalar",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::ValueRange":$operands)>
  ];
}

def AnchorOpInterface : OpInterface<"AnchorOpInterface"> {
  let cppNamespace = "::pascaline";
  let description = [{
    An op that decides which kernel family its group becomes. A group has at
    most one; a group without one is a pointwise kernel.
  }];
  let methods = [
    InterfaceMethod<"multiply-adds and other arithmetic of the op, in operations",
      "int64_t", "countFlops">
  ];
}

#endif
