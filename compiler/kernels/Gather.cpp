// Gather - a tensor taken along one axis at the indices.
//
// Shape:  as Pointwise, over the elements of the result: neighbours of one
//         slice share the load of its index and move 128 bits at a time.
// Cost:   reading what is taken and the indices, writing once.
// Golden: test/ptx/gather.mlir

#include "compiler/ir/Dialect.h"
#include "compiler/ir/Types.h"
#include "compiler/kernels/Families.h"
#include "compiler/kernels/GroupKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace pascaline {

static constexpr int64_t kThreads = 256;

/// A number from the indices as an i32 inside [0, extent): a negative one
/// counts from the end, and one out of range is clamped in its own width.
static Value insideAxis(KernelBuilder &b, Value index, int64_t extent) {
  auto constant = [&](int64_t value) -> Value {
    return b.create<arith::ConstantOp>(
        b.getIntegerAttr(index.getType(), value));
  };
  Value fromEnd = b.create<arith::AddIOp>(index, constant(extent));
  Value isNegative =
      b.create<arith::CmpIOp>(arith::CmpIPredicate::slt, index, constant(0));
  Value place = b.select(isNegative, fromEnd, index);
  place = b.create<arith::MaxSIOp>(place, constant(0));
  place = b.create<arith::MinSIOp>(place, constant(extent - 1));
  if (index.getType() == b.getI32Type())
    return place;
  return b.create<arith::TruncIOp>(b.getI32Type(), place);
}

FailureOr<GeneratedKernel> generateGather(FusedOp group, const Chip &chip) {
  auto gather = cast<GatherOp>(group.getAnchor());
  auto type = gather.getY().getType();
  ArrayRef<int64_t> shape = gather.getX().getType().getShape();
  int64_t axis = gather.getAxis(), extent = shape[axis];
  int64_t count = type.getNumElements();
  int64_t taken = countElements(gather.getIndices());
  int64_t inner = 1;
  for (int64_t e : shape.drop_front(axis + 1))
    inner *= e;
  int64_t width =
      std::min<int64_t>(8, 16 / elementBytes(type.getElementType()));
  while (count % width != 0)
    width /= 2;
  int64_t vectors = count / width;
  int64_t blocks = llvm::divideCeil(vectors, kThreads);

  GroupKernel kernel(group, kThreads);
  KernelBuilder &b = kernel.builder();
  ExpressionEmitter &emitter = kernel.emitter();
  IndexBuilder &indices = emitter.index();
  AffineIndex first = kernel.flatThread(vectors) * width;

  std::vector<TensorIndex> from, to, which;
  for (int64_t w = 0; w < width; ++w) {
    AffineIndex place = first + AffineIndex(w);
    to.push_back(TensorIndex::linear(type.getShape(), place));
    which.push_back(TensorIndex::linear(
        gather.getIndices().getType().getShape(),
        indices.modulo(indices.divide(place, inner), taken)));
  }
  llvm::DenseMap<Value, Value> inside;
  for (auto [w, index] :
       llvm::enumerate(emitter.evaluate(gather.getIndices(), which))) {
    Value &slice = inside[index];
    if (!slice)
      slice = insideAxis(b, index, extent);
    AffineIndex place = first + AffineIndex(w);
    from.push_back(TensorIndex::linear(
        shape, indices.divide(place, inner * taken) * (extent * inner) +
                   indices.variable(slice, extent) * inner +
                   indices.modulo(place, inner)));
  }
  emitter.storeResults(to, emitter.evaluate(gather.getX(), from));
  return kernel.finish({blocks, 1, 1},
                       std::to_string(width) + " elements a thread");
}

} // namespace pascaline
