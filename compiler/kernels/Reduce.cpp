// Reduce - sum, product, maximum or minimum along axes.
//
// Shape:  where the innermost dimension is reduced, a row (one output) goes to
//         a part of a warp, a warp or a block, which read neighbours together;
//         where it stays, neighbouring threads take neighbouring outputs and
//         kSplits warps share the rows of 32 of them through shared memory.
// Cost:   reading the operand once; bandwidth, or latency when small.
// Golden: test/ptx/reduce.mlir

#include "compiler/ir/Dialect.h"
#include "compiler/ir/Types.h"
#include "compiler/kernels/Combine.h"
#include "compiler/kernels/Families.h"
#include "compiler/kernels/GroupKernel.h"
#include "compiler/target/Chip.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace pascaline {

static constexpr int64_t kThreads = kBlockLanes;
static constexpr int64_t kSplits = kThreads / Chip::kWarpSize;
/// A row this long, with an SM to itself, deserves all the threads it has.
static constexpr int64_t kLongRow = 16384;

namespace {
/// The operand's dimensions, neighbours of one kind merged, and how a place in
/// the output and one in the row make a place in the operand.
struct Axes {
  struct Dim {
    int64_t extent, stride;
    bool reduced;
  };
  SmallVector<Dim> dims; ///< without those of extent 1
  int64_t rows = 1;      ///< elements of the output
  int64_t count = 1;     ///< elements of a row

  explicit Axes(ReduceOp reduce) {
    ArrayRef<int64_t> shape = reduce.getX().getType().getShape();
    Shape strides = rowMajorStrides(shape);
    for (auto [i, extent] : llvm::enumerate(shape)) {
      bool reduced = llvm::is_contained(reduce.getAxes(), int64_t(i));
      (reduced ? count : rows) *= extent;
      if (extent == 1)
        continue;
      if (!dims.empty() && dims.back().reduced == reduced) {
        dims.back().extent *= extent;
        dims.back().stride = strides[i];
      } else {
        dims.push_back({extent, strides[i], reduced});
      }
    }
  }

  bool innermostReduced() const { return dims.empty() || dims.back().reduced; }

  AffineIndex place(IndexBuilder &indices, const AffineIndex &row,
                    const AffineIndex &element) const {
    AffineIndex sum(0);
    int64_t rowStride = 1, elementStride = 1;
    for (const Dim &dim : llvm::reverse(dims)) {
      int64_t &stride = dim.reduced ? elementStride : rowStride;
      const AffineIndex &source = dim.reduced ? element : row;
      sum = sum + indices.modulo(indices.divide(source, stride), dim.extent) *
                      dim.stride;
      stride *= dim.extent;
    }
    return sum;
  }
};

class ReduceGenerator {
public:
  ReduceGenerator(FusedOp group, ReduceOp reduce, const Chip &chip)
      : reduce(reduce), chip(chip), axes(reduce),
        threads(axes.innermostReduced() && axes.count >= kLongRow &&
                        axes.rows <= chip.multiprocessors
                    ? Chip::kMaxThreads
                    : kThreads),
        kernel(group, threads), b(kernel.builder()),
        combiner(b, reduce.getKind(),
                 reduce.getX().getType().getElementType()) {}

  FailureOr<GeneratedKernel> reduceRows();
  FailureOr<GeneratedKernel> reduceColumns();
  bool innermostReduced() const { return axes.innermostReduced(); }

private:
  Value combineShare(const AffineIndex &row, const RowShare &share) {
    return combineRow(
        b, kernel.emitter(), share, combiner, [&](ArrayRef<AffineIndex> at) {
          std::vector<TensorIndex> places;
          for (const AffineIndex &element : at)
            places.push_back(TensorIndex::linear(
                reduce.getX().getType().getShape(),
                axes.place(kernel.emitter().index(), row, element)));
          return kernel.emitter().evaluate(reduce.getX(), places);
        });
  }

  void storeIf(Value condition, const AffineIndex &row, Value result) {
    auto write = [&] {
      ExpressionEmitter::Scope scope(kernel.emitter());
      kernel.emitter().storeResults(
          TensorIndex::linear(reduce.getY().getType().getShape(), row), result);
    };
    if (condition)
      b.branchIf(condition, write);
    else
      write();
  }

  ReduceOp reduce;
  const Chip &chip;
  Axes axes;
  int64_t threads; ///< of a block
  GroupKernel kernel;
  KernelBuilder &b;
  Combiner combiner;
};
} // namespace

FailureOr<GeneratedKernel> ReduceGenerator::reduceRows() {
  RowShare share;
  share.count = axes.count;
  int64_t innermost = axes.dims.empty() ? 1 : axes.dims.back().extent;
  int64_t bytes = elementBytes(reduce.getX().getType().getElementType());
  share.width = std::max<int64_t>(1, std::min<int64_t>(4, 16 / bytes));
  while (innermost % share.width != 0)
    share.width /= 2;
  share.lanes =
      chooseLanes(axes.rows, axes.count / share.width, chip.multiprocessors);

  if (share.lanes == kBlockLanes)
    share.lanes = threads;

  int64_t rowsPerBlock = threads / share.lanes;
  int64_t blocks = llvm::divideCeil(axes.rows, rowsPerBlock);
  IndexBuilder &indices = kernel.emitter().index();
  Value thread = b.threadX();
  share.lane = indices.variable(b.rem(thread, share.lanes), share.lanes);
  Value row =
      b.add(b.mul(b.blockX(), rowsPerBlock), b.div(thread, share.lanes));
  // Threads beyond the last row repeat it: they take part in the shuffles.
  bool partial = blocks * rowsPerBlock != axes.rows;
  AffineIndex inside = indices.variable(
      partial ? b.minimum(row, axes.rows - 1) : row, axes.rows);

  Value result = combineShare(inside, share);
  if (share.lanes == threads)
    result = combineBlock(
        b, combiner, result, threads,
        b.shared("parts",
                 threads / Chip::kWarpSize * storageBytes(result.getType()),
                 16));
  else
    result = combineLanes(b, combiner, result, share.lanes);

  Value stores;
  if (share.lanes > 1)
    stores = b.equal(b.rem(thread, share.lanes), b.i32(0));
  if (partial)
    stores = b.both(stores, b.lessThan(row, axes.rows));
  storeIf(stores, inside, result);
  return kernel.finish({blocks, 1, 1},
                       "rows, " + std::to_string(share.lanes) + " lanes, " +
                           std::to_string(share.width) + " elements a step");
}

FailureOr<GeneratedKernel> ReduceGenerator::reduceColumns() {
  // Without enough outputs to fill the chip, the rows are split as well.
  bool split = axes.count >= 4 * kSplits &&
               axes.rows < chip.multiprocessors * Chip::kMaxThreads;
  int64_t splits = split ? kSplits : 1;
  int64_t columns = kThreads / splits;
  int64_t blocks = llvm::divideCeil(axes.rows, columns);

  IndexBuilder &indices = kernel.emitter().index();
  Value thread = b.threadX();
  Value column = b.rem(thread, columns), slice = b.div(thread, columns);
  Value row = b.add(b.mul(b.blockX(), columns), column);
  bool partial = blocks * columns != axes.rows;
  AffineIndex inside = indices.variable(
      partial ? b.minimum(row, axes.rows - 1) : row, axes.rows);

  RowShare share;
  share.count = axes.count;
  share.lanes = splits;
  share.lane = indices.variable(slice, splits);
  Value result = combineShare(inside, share);

  Value stores;
  if (partial)
    stores = b.lessThan(row, axes.rows);
  if (split) {
    Type type = result.getType();
    Value parts = b.shared("parts", kThreads * storageBytes(type), 16);
    b.store(result, b.element(parts, type, thread));
    b.barrier();
    SmallVector<Value> all;
    for (int64_t i = 0; i < splits; ++i)
      all.push_back(b.load(b.element(parts, type, b.add(column, i * columns)),
                           type, Cached::No));
    result = combiner.tree(all);
    stores = b.both(stores, b.equal(slice, b.i32(0)));
  }
  storeIf(stores, inside, result);
  return kernel.finish({blocks, 1, 1},
                       "columns, " + std::to_string(splits) + " splits");
}

FailureOr<GeneratedKernel> generateReduce(FusedOp group, const Chip &chip) {
  ReduceGenerator generator(group, cast<ReduceOp>(group.getAnchor()), chip);
  return generator.innermostReduced() ? generator.reduceRows()
                                      : generator.reduceColumns();
}

} // namespace pascaline
