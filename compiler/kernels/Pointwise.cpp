// Pointwise - every result at every index: y[i] = f(a[i], b[i], ...), and
// copies under another view.
//
// Shape:  a thread takes as many neighbours as 128 bits hold of the widest
//         result, where that divides the count; grid = all threads needed,
//         block = kThreads; no shared memory.
// Cost:   the bytes of operands and results; the loads of one thread fill the
//         memory's latency at full occupancy.
// Golden: test/ptx/pointwise.mlir

#include "compiler/ir/Dialect.h"
#include "compiler/ir/Types.h"
#include "compiler/kernels/Families.h"
#include "compiler/kernels/GroupKernel.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace pascaline {

static constexpr int64_t kThreads = 256;

/// Neighbours a thread: 128 bits of the widest result where they divide the
/// count.
static int64_t vectorWidth(FusedOp group, int64_t count) {
  int64_t bytes = 1;
  for (Value result : group.getOutputs())
    bytes = std::max(
        bytes, elementBytes(
                   cast<RankedTensorType>(result.getType()).getElementType()));
  int64_t width = std::min<int64_t>(16 / bytes, 8);
  while (count % width != 0)
    width /= 2;
  return width;
}

FailureOr<GeneratedKernel> generatePointwise(FusedOp group, const Chip &chip) {
  auto shape =
      cast<RankedTensorType>(group.getOutputs()[0].getType()).getShape();
  int64_t count = countElements(group.getOutputs()[0]);
  int64_t width = vectorWidth(group, count);
  int64_t vectors = count / width;
  int64_t blocks = llvm::divideCeil(vectors, kThreads);

  GroupKernel::Extras extras;
  extras.storesInPlace = true;
  GroupKernel kernel(group, kThreads, extras);
  AffineIndex first = kernel.flatThread(vectors) * width;
  std::vector<TensorIndex> at;
  for (int64_t w = 0; w < width; ++w)
    at.push_back(TensorIndex::linear(shape, first + AffineIndex(w)));
  kernel.emitter().storeResults(at);
  return kernel.finish({blocks, 1, 1},
                       std::to_string(width) + " elements a thread");
}

} // namespace pascaline
