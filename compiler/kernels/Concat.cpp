// Concat - the inputs one after the other along an axis, in one launch.
//
// Shape:  the grid is cut into one range of blocks an input, so that a block
//         copies from one input only and the choice costs a few uniform
//         compares; a thread copies up to 128 bits. block = kThreads.
// Cost:   reading and writing once.
// Golden: test/ptx/concat.mlir

#include "compiler/ir/Dialect.h"
#include "compiler/ir/Types.h"
#include "compiler/kernels/Families.h"
#include "compiler/kernels/GroupKernel.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace pascaline {

static constexpr int64_t kThreads = 256;

FailureOr<GeneratedKernel> generateConcat(FusedOp group, const Chip &chip) {
  auto concat = cast<ConcatOp>(group.getAnchor());
  ArrayRef<int64_t> shape = concat.getY().getType().getShape();
  int64_t inner = 1;
  for (int64_t extent : shape.drop_front(concat.getAxis() + 1))
    inner *= extent;
  int64_t rowOut = shape[concat.getAxis()] * inner;
  int64_t bytes = elementBytes(concat.getY().getType().getElementType());

  GroupKernel kernel(group, kThreads);
  KernelBuilder &b = kernel.builder();
  ExpressionEmitter &emitter = kernel.emitter();
  IndexBuilder &indices = emitter.index();
  Value block = b.blockX();
  int64_t firstBlock = 0, start = 0;
  for (Value input : concat.getInputs()) {
    ArrayRef<int64_t> inputShape =
        cast<RankedTensorType>(input.getType()).getShape();
    int64_t row = inputShape[concat.getAxis()] * inner;
    int64_t count = countElements(input);
    int64_t offset = start;
    start += row;
    if (count == 0)
      continue;
    int64_t width = std::max<int64_t>(1, std::min<int64_t>(8, 16 / bytes));
    while (row % width != 0)
      width /= 2;
    int64_t blocks = llvm::divideCeil(count / width, kThreads);
    Value local = b.add(block, -firstBlock);
    Value thread = b.add(b.mul(local, kThreads), b.threadX());
    // Unsigned: the threads of earlier blocks have large numbers.
    b.branchIf(b.lessThanUnsigned(thread, b.i32(count / width)), [&] {
      ExpressionEmitter::Scope scope(emitter);
      AffineIndex first = indices.variable(thread, count / width) * width;
      std::vector<TensorIndex> from, to;
      for (int64_t w = 0; w < width; ++w) {
        AffineIndex place = first + AffineIndex(w);
        from.push_back(TensorIndex::linear(inputShape, place));
        to.push_back(TensorIndex::linear(
            shape, indices.divide(place, row) * rowOut +
                       indices.modulo(place, row) + AffineIndex(offset)));
      }
      emitter.storeResults(to, emitter.evaluate(input, from));
    });
    firstBlock += blocks;
  }
  return kernel.finish({firstBlock, 1, 1},
                       std::to_string(concat.getInputs().size()) + " inputs");
}

} // namespace pascaline
