// The plan dialect: a flat list of launches over buffers.
#ifndef PASCALINE_IR_PLAN
#define PASCALINE_IR_PLAN

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let cppNamespace = "::pascaline::plan";
  let summary = "Launches of kernels over buffers: what the artifact holds";
  let description = [{
    A module holds a `plan.program` for each shape set and, beside them, one `plan.kernel`
    for each distinct kernel. Weights of the programs that are equal have one place. A program's body is a list: buffers, then launches in the order
    they run. There is no control flow yet.
  }];
  let useDefaultTypePrinterParser = 1;
}

class Plan_Op<string mnemonic, list<Trait> traits = []>
    : Op<Plan_Dialect, mnemonic, traits>;

def Plan_BufferType : TypeDef<Plan_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "a range of device memory";
}

def Plan_BufferKind : I32EnumAttr<"BufferKind", "where a buffer lies", [
    I32EnumAttrCase<"input", 0>,    // the caller's
    I32EnumAttrCase<"output", 1>,   // the caller's
    I32EnumAttrCase<"weights", 2>,  // constant bytes of the artifact, uploaded once
    I32EnumAttrCase<"init", 3>,     // after the weights, written by init launches
    I32EnumAttrCase<"arena", 4>,    // a session's, shared by lifetimes
    I32EnumAttrCase<"counters", 5>  // a session's, zero between launches
  ]> {
  let cppNamespace = "::pascaline::plan";
}

def Plan_BufferOp : Plan_Op<"buffer"> {
  let summary = "a buffer and, once memory is planned, its place";
  let description = [{
    `offset` counts bytes from the start of the kind's memory; `index` is the
    position among the program's inputs or outputs. A weights buffer carries its value
    and, where a kernel wants another order of bytes, the `packing`
    (compiler/kernels/WeightPacking.h; the fields in their order).
    ```mlir
    %3 = plan.buffer arena {bytes = 802816 : i64, offset = 0 : i64}
    ```
  }];
  let arguments = (ins Plan_BufferKind:$kind, I64Attr:$bytes,
                       OptionalAttr<I64Attr>:$offset,
                       OptionalAttr<I64Attr>:$index,
                       OptionalAttr<ElementsAttr>:$value,
                       OptionalAttr<DenseI64ArrayAttr>:$packing);
  let results = (outs Plan_BufferType:$buffer);
  let assemblyFormat = "$kind attr-dict";
  let hasVerifier = 1;
}

def Plan_ViewOp : Plan_Op<"view"> {
  let summary = "a part of a buffer, as a buffer";
  let description = [{
    The `bytes` from `start` on of a buffer or of another view: a launch that
    writes a part of a tensor or reads one is given this. It takes no memory of
    its own. Kernels read 128 bits at a time, so `start` is a multiple of 16.
    ```mlir
    %4 = plan.view %3 {start = 1024 : i64, bytes = 512 : i64}
    ```
  }];
  let arguments = (ins Plan_BufferType:$whole, I64Attr:$start, I64Attr:$bytes);
  let results = (outs Plan_BufferType:$buffer);
  let assemblyFormat = "$whole attr-dict";
  let hasVerifier = 1;
}

def Plan_Access : I32EnumAttr<"Access", "what a launch does with a buffer", [
    I32EnumAttrCase<"read", 0>, I32EnumAttrCase<"write", 1>,
    I32EnumAttrCase<"scratch", 2>]> {
  let cppNamespace = "::pascaline::plan";
}

def Plan_LaunchOp : Plan_Op<"launch"> {
  let summary = "run a kernel over a grid";
  let description = [{
    `access` has one Access a buffer. `init` marks a launch that runs once, when the model
    is loaded. The location and `nodes` name the ONNX nodes it computes.

    `joins` marks a launch that only copies its operands one after the other
    into its result, which stands last. `types` holds each buffer's tensor type, none
    for scratch memory. `replaceable` holds pairs of positions
    among the buffers, of an operand and of a result: the kernel is right as well
    where both are the same bytes.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, DenseI64ArrayAttr:$grid,
                       DenseI32ArrayAttr:$access, StrArrayAttr:$nodes,
                       I64Attr:$flops, I64Attr:$bytes, UnitAttr:$init,
                       UnitAttr:$joins,
                       OptionalAttr<DenseI32ArrayAttr>:$replaceable,
                       OptionalAttr<TypeArrayAttr>:$types,
                       Variadic<Plan_BufferType>:$buffers);
  let assemblyFormat = "$kernel `(` $buffers `)` attr-dict";
  let hasVerifier = 1;
}

def Plan_KernelOp : Plan_Op<"kernel", [
    Symbol, IsolatedFromAbove, NoRegionArguments, NoTerminator,
    SingleBlock, HasParent<"::mlir::ModuleOp">]> {
  let summary = "a kernel: its launch shape, its kernel IR and, once emitted, its PTX";
  let description = [{
    The body is one `builtin.module` with the entry (an llvm.func of this op's
    name) and its shared memory: what compiler/target turns into PTX.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DenseI64ArrayAttr:$block,
                       I64Attr:$shared_bytes, StrAttr:$configuration,
                       OptionalAttr<StrAttr>:$ptx);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let extraClassDeclaration = [{
    /// The module of kernel IR.
    ::mlir::ModuleOp getKernelModule() {
      return ::mlir::cast<::mlir::ModuleOp>(getBody().front().front());
    }
  }];
}

def Plan_ReturnOp : Plan_Op<"return", [HasParent<"ProgramOp">]> {
  let summary = "the buffers that hold the outputs, in their order";
  let description = [{
    An output kernel results are written to directly is a buffer of kind
    `output`; any other buffer (an input or constant passed through, a value
    returned twice) is copied by the runtime.
  }];
  let arguments = (ins Variadic<Plan_BufferType>:$buffers);
  let assemblyFormat = "($buffers^)? attr-dict";
}

def Plan_ProgramOp : Plan_Op<"program", [
    Symbol, IsolatedFromAbove, NoRegionArguments, NoTerminator, SingleBlock,
    HasParent<"::mlir::ModuleOp">]> {
  let summary = "the model: its inputs and outputs, buffers and launches";
  let description = [{
    The sizes are set when memory is planned. `lower_bound` is the largest sum
    of the arena's live bytes over the launches, `onnx_order_bytes` the same if
    launches ran in the model's own order and each result had memory of its own.

    Once offsets are set, no two buffers may have bytes of the arena in common
    while both live, other than a `replaceable` pair at its launch.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       StrArrayAttr:$input_names, TypeArrayAttr:$input_types,
                       StrArrayAttr:$output_names, TypeArrayAttr:$output_types,
                       OptionalAttr<I64Attr>:$arena_bytes,
                       OptionalAttr<I64Attr>:$weight_bytes,
                       OptionalAttr<I64Attr>:$init_bytes,
                       OptionalAttr<I64Attr>:$counter_bytes,
                       OptionalAttr<I64Attr>:$lower_bound,
                       OptionalAttr<I64Attr>:$onnx_order_bytes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

#endif
