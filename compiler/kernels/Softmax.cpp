// Softmax - exp(x - max) / sum of it along one axis, or its logarithm.
//
// Shape:  a row goes to one thread (axis not innermost, neighbours side by
//         side), a part of a warp, a warp or a block. A row of up to kKept
//         elements a thread stays in registers, so it is read once; longer
//         ones are read again for the sum and for the result.
// Cost:   reading once (or three times) and writing once.
// Golden: test/ptx/softmax.mlir

#include "compiler/ir/Dialect.h"
#include "compiler/ir/Types.h"
#include "compiler/kernels/Combine.h"
#include "compiler/kernels/Families.h"
#include "compiler/kernels/GroupKernel.h"
#include "compiler/target/Chip.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace pascaline {

static constexpr int64_t kThreads = kBlockLanes;
static constexpr int64_t kKept = 32;

namespace {
class SoftmaxGenerator {
public:
  SoftmaxGenerator(FusedOp group, SoftmaxOp softmax, const Chip &chip);
  FailureOr<GeneratedKernel> generate();

private:
  std::vector<TensorIndex> places(ArrayRef<AffineIndex> at);
  SmallVector<Value> evaluate(ArrayRef<AffineIndex> at) {
    return kernel.emitter().evaluate(softmax.getX(), places(at));
  }
  Value combineThreads(Combiner &combiner, Value value);
  Value power(Value x) {
    return b.create<math::ExpOp>(b.create<arith::SubFOp>(x, largest));
  }
  void computeNormalizer();
  Value result(Value x);
  void store(ArrayRef<AffineIndex> at, ArrayRef<Value> values);
  void storeIf(Value condition, ArrayRef<AffineIndex> at,
               ArrayRef<Value> values);

  void keepRow();
  void rereadRow();

  SoftmaxOp softmax;
  GroupKernel kernel;
  KernelBuilder &b;
  int64_t rows, inner;
  RowShare share;
  AffineIndex row;
  Value rowInside; ///< null where every thread has a row
  Value shared;    ///< for rows of a block
  Value largest, sum, divisor;
};
} // namespace

SoftmaxGenerator::SoftmaxGenerator(FusedOp group, SoftmaxOp softmax,
                                   const Chip &chip)
    : softmax(softmax), kernel(group, kThreads), b(kernel.builder()) {
  ArrayRef<int64_t> shape = softmax.getX().getType().getShape();
  int64_t axis = softmax.getAxis();
  share.count = shape[axis];
  inner = 1;
  for (int64_t extent : shape.drop_front(axis + 1))
    inner *= extent;
  rows = softmax.getX().getType().getNumElements() / share.count;
  if (inner > 1)
    return; // neighbours in a row are far apart: one thread a row
  int64_t bytes = elementBytes(softmax.getX().getType().getElementType());
  share.width = std::min<int64_t>(4, 16 / bytes);
  while (share.count % share.width != 0)
    share.width /= 2;
  share.lanes =
      chooseLanes(rows, share.count / share.width, chip.multiprocessors);
}

std::vector<TensorIndex> SoftmaxGenerator::places(ArrayRef<AffineIndex> at) {
  IndexBuilder &indices = kernel.emitter().index();
  AffineIndex start = indices.divide(row, inner) * (share.count * inner) +
                      indices.modulo(row, inner);
  std::vector<TensorIndex> result;
  for (const AffineIndex &element : at)
    result.push_back(TensorIndex::linear(softmax.getX().getType().getShape(),
                                         start + element * inner));
  return result;
}

Value SoftmaxGenerator::combineThreads(Combiner &combiner, Value value) {
  return share.lanes == kThreads
             ? combineBlock(b, combiner, value, kThreads, shared)
             : combineLanes(b, combiner, value, share.lanes);
}

void SoftmaxGenerator::computeNormalizer() {
  if (softmax.getLog())
    divisor = b.create<math::LogOp>(sum);
  else
    divisor = sum;
}

/// The result for an operand's element, or for its power where that is known.
Value SoftmaxGenerator::result(Value x) {
  if (softmax.getLog())
    return b.create<arith::SubFOp>(b.create<arith::SubFOp>(x, largest),
                                   divisor);
  return b.create<arith::DivFOp>(x, divisor);
}

void SoftmaxGenerator::store(ArrayRef<AffineIndex> at, ArrayRef<Value> values) {
  kernel.emitter().storeResults(places(at), values);
}

void SoftmaxGenerator::storeIf(Value condition, ArrayRef<AffineIndex> at,
                               ArrayRef<Value> values) {
  if (!condition)
    return store(at, values);
  b.branchIf(condition, [&] {
    ExpressionEmitter::Scope scope(kernel.emitter());
    store(at, values);
  });
}

void SoftmaxGenerator::keepRow() {
  Type element = softmax.getX().getType().getElementType();
  Combiner max(b, ReduceKind::max, element), add(b, ReduceKind::sum, element);
  SmallVector<AffineIndex> at;
  for (int64_t step = 0; step < share.fullSteps(); ++step)
    for (int64_t w = 0; w < share.width; ++w)
      at.push_back(share.lane * share.width +
                   AffineIndex(step * share.stride() + w));
  SmallVector<Value> kept = evaluate(at);
  size_t full = kept.size();
  std::optional<RowTail> tail;
  if (share.hasTail()) {
    tail = rowTail(b, kernel.emitter().index(), share);
    for (Value value : evaluate(tail->at))
      kept.push_back(b.select(tail->valid, value, max.identity()));
  }
  largest = combineThreads(max, max.tree(kept));
  SmallVector<Value> powers;
  for (auto [i, value] : llvm::enumerate(kept)) {
    Value term = power(value);
    // Not by the value: -inf less an infinite maximum is NaN.
    if (i >= full)
      term = b.select(tail->valid, term, add.identity());
    powers.push_back(term);
  }
  sum = combineThreads(add, add.tree(powers));
  computeNormalizer();
  SmallVector<Value> results;
  for (Value value : softmax.getLog() ? kept : powers)
    results.push_back(result(value));
  if (full > 0)
    storeIf(rowInside, at, ArrayRef(results).take_front(full));
  if (tail)
    storeIf(b.both(rowInside, tail->valid), tail->at,
            ArrayRef(results).drop_front(full));
}

void SoftmaxGenerator::rereadRow() {
  Type element = softmax.getX().getType().getElementType();
  ExpressionEmitter &emitter = kernel.emitter();
  Combiner max(b, ReduceKind::max, element), add(b, ReduceKind::sum, element);
  auto read = [&](ArrayRef<AffineIndex> at) { return evaluate(at); };
  auto readPowers = [&](ArrayRef<AffineIndex> at) {
    SmallVector<Value> values = evaluate(at);
    for (Value &value : values)
      value = power(value);
    return values;
  };
  largest = combineThreads(max, combineRow(b, emitter, share, max, read));
  sum = combineThreads(add, combineRow(b, emitter, share, add, readPowers));
  computeNormalizer();
  auto results = [&](ArrayRef<AffineIndex> at) {
    SmallVector<Value> values =
        softmax.getLog() ? evaluate(at) : readPowers(at);
    for (Value &value : values)
      value = result(value);
    return values;
  };
  // A thread without a row of its own writes the last row's values over.
  forEachStep(b, emitter, share, {},
              [&](ArrayRef<AffineIndex> at, ArrayRef<Value>) {
                store(at, results(at));
                return SmallVector<Value>();
              });
  if (share.hasTail()) {
    RowTail tail = rowTail(b, emitter.index(), share);
    SmallVector<Value> values = results(tail.at);
    storeIf(tail.valid, tail.at, values);
  }
}

FailureOr<GeneratedKernel> SoftmaxGenerator::generate() {
  int64_t rowsPerBlock = kThreads / share.lanes;
  int64_t blocks = llvm::divideCeil(rows, rowsPerBlock);
  IndexBuilder &indices = kernel.emitter().index();
  Value thread = b.threadX();
  Value number =
      b.add(b.mul(b.blockX(), rowsPerBlock), b.div(thread, share.lanes));
  if (blocks * rowsPerBlock != rows) {
    rowInside = b.lessThan(number, rows);
    number = b.minimum(number, rows - 1);
  }
  row = indices.variable(number, rows);
  share.lane = indices.variable(b.rem(thread, share.lanes), share.lanes);
  if (share.lanes == kThreads)
    shared = b.shared("parts",
                      kThreads / Chip::kWarpSize *
                          elementBytes(computeType(
                              softmax.getX().getType().getElementType())),
                      16);
  bool keeps = llvm::divideCeil(share.count, share.lanes) <= kKept;
  if (keeps)
    keepRow();
  else
    rereadRow();
  return kernel.finish({blocks, 1, 1},
                       std::to_string(share.lanes) + " lanes a row, " +
                           std::to_string(share.width) + " elements a step" +
                           (keeps ? ", kept" : ", read again"));
}

FailureOr<GeneratedKernel> generateSoftmax(FusedOp group, const Chip &chip) {
  return SoftmaxGenerator(group, cast<SoftmaxOp>(group.getAnchor()), chip)
      .generate();
}

} // namespace pascaline
