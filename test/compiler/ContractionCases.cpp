// ContractionCases - see ContractionCases.h.

#include "test/compiler/ContractionCases.h"

#include "compiler/target/Ptx.h"
#include "passes/Pipelines.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace pascaline::test {

std::unique_ptr<MLIRContext> makeContext() {
  DialectRegistry registry;
  registerPtxTranslations(registry);
  auto context =
      std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

CompiledContraction compileContraction(MLIRContext &context,
                                       Contraction contraction, bool relu) {
  CompiledContraction result;
  result.entry = "contraction";
  simplify(contraction.a);
  simplify(contraction.b);
  result.contraction = contraction;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    result.errors.push_back(diagnostic.str());
    return success();
  });
  if (auto problem = checkContraction(contraction)) {
    result.errors.push_back(*problem);
    return result;
  }

  SmallVector<KernelParameter> parameters = {
      {true, 16}, {true, 16}, {true, 16}, {false, 16}};
  if (contraction.slices > 1)
    parameters.append({{false, 16}, {false, 16}});
  KernelBuilder b(UnknownLoc::get(&context), result.entry,
                  contraction.tile.threads(), contraction.tile.minBlocks,
                  parameters);
  ContractionPointers pointers = {b.parameter(0), b.parameter(1), {}, {}};
  if (contraction.slices > 1) {
    pointers.workspace = b.parameter(4);
    pointers.counters = b.parameter(5);
  }
  emitContraction(
      b, contraction, pointers, [&](KernelBuilder &, const OutputGroup &out) {
        Value index = b.i32(0);
        for (auto [at, extent] : llvm::zip(out.batch, contraction.batch))
          index = b.add(b.mul(index, extent), at);
        Value m = b.add(out.m.value, out.m.plus);
        index = b.add(b.mul(index, contraction.m), m);
        index =
            b.add(b.mul(index, contraction.n), b.add(out.n.value, out.n.plus));
        Value bias = b.load(b.element(b.parameter(2), b.getF32Type(), m),
                            b.getF32Type(), Cached::ReadOnly);
        SmallVector<Value> values;
        for (Value sum : out.sums) {
          Value value = b.create<arith::AddFOp>(sum, bias);
          if (relu) {
            Value low = b.create<arith::CmpFOp>(arith::CmpFPredicate::OLT,
                                                value, b.zero(b.getF32Type()));
            value = b.select(low, b.zero(b.getF32Type()), value);
          }
          values.push_back(value);
        }
        Value stored = values.size() == 1 ? values[0] : b.vectorOf(values);
        b.storeIf(out.inside, stored,
                  b.element(b.parameter(3), b.getF32Type(), index));
      });
  OwningOpRef<ModuleOp> module = b.finish();
  if (failed(verify(*module)))
    return result;
  PassManager pm(&context);
  buildKernelLoweringPipeline(pm);
  if (failed(pm.run(*module)))
    return result;
  FailureOr<std::string> ptx = emitPtx(*module);
  if (succeeded(ptx))
    result.ptx = *ptx;
  return result;
}

Operand denseOperand(MLIRContext &context, int64_t x, int64_t k, bool kInner,
                     int64_t batchStride) {
  Operand operand;
  operand.element = Float32Type::get(&context);
  operand.batchStrides = {batchStride};
  operand.x = {{x, kInner ? k : 1}};
  operand.k = {{k, kInner ? 1 : x}};
  return operand;
}

Operand packedOperand(MLIRContext &context, int64_t m, int64_t k,
                      const Tile &tile, llvm::ArrayRef<int64_t> batchStrides) {
  int64_t mPadded = (m + tile.bm - 1) / tile.bm * tile.bm;
  int64_t kPadded = (k + tile.bk - 1) / tile.bk * tile.bk;
  Operand operand;
  operand.element = Float32Type::get(&context);
  operand.batchStrides.assign(batchStrides.begin(), batchStrides.end());
  operand.x = {{mPadded, 1}};
  operand.k = {{kPadded, mPadded}};
  return operand;
}

static int64_t outputExtent(int64_t in, const ConvCase &conv) {
  return (in + 2 * conv.pad - conv.dilation * (conv.window - 1) - 1) /
             conv.stride +
         1;
}
int64_t ConvCase::outHeight() const { return outputExtent(height, *this); }
int64_t ConvCase::outWidth() const { return outputExtent(width, *this); }

Contraction convContraction(MLIRContext &context, const ConvCase &conv,
                            const Tile &tile, int64_t slices) {
  int64_t groupIn = conv.channels / conv.groups;
  Contraction c;
  c.batch = {conv.images, conv.groups};
  c.m = conv.outputs / conv.groups;
  c.n = conv.outHeight() * conv.outWidth();
  c.k = conv.window * conv.window * groupIn;
  c.tile = tile;
  c.slices = slices;
  int64_t kPadded = c.tilesK() * tile.bk, mPadded = c.tilesM() * tile.bm;
  c.a = packedOperand(context, c.m, c.k, tile, {0, kPadded * mPadded});

  int64_t channel = conv.channelsLast ? 1 : conv.height * conv.width;
  int64_t column = conv.channelsLast ? conv.channels : 1;
  int64_t row = conv.width * column;
  c.b.element = Float32Type::get(&context);
  c.b.offset = -conv.pad * (row + column);
  c.b.batchStrides = {conv.channels * conv.height * conv.width,
                      groupIn * channel};
  c.b.x = {{conv.outHeight(), conv.stride * row},
           {conv.outWidth(), conv.stride * column}};
  c.b.k = {{conv.window, conv.dilation * row},
           {conv.window, conv.dilation * column},
           {groupIn, channel}};
  c.b.bounds = {{0, 0, conv.stride, conv.dilation, -conv.pad, conv.height},
                {1, 1, conv.stride, conv.dilation, -conv.pad, conv.width}};
  return c;
}

} // namespace pascaline::test
