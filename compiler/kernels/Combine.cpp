// Combine.cpp - see the header.

#include "compiler/kernels/Combine.h"

#include "compiler/ir/Types.h"
#include "compiler/target/Chip.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;

namespace pascaline {

//===- Combiner
//-------------------------------------------------------------===//

Value Combiner::identity() {
  Type type = computeType(element);
  bool isMax = kind == ReduceKind::max;
  if (auto floats = dyn_cast<FloatType>(type)) {
    if (kind == ReduceKind::sum || kind == ReduceKind::prod)
      return b.constant(type, kind == ReduceKind::prod);
    return b.create<arith::ConstantOp>(b.getFloatAttr(
        floats, APFloat::getInf(floats.getFloatSemantics(), isMax)));
  }
  unsigned bits = type.getIntOrFloatBitWidth();
  bool isUnsigned = element.isUnsignedInteger();
  APInt value(bits, kind == ReduceKind::prod);
  if (isMax)
    value =
        isUnsigned ? APInt::getMinValue(bits) : APInt::getSignedMinValue(bits);
  else if (kind == ReduceKind::min)
    value =
        isUnsigned ? APInt::getMaxValue(bits) : APInt::getSignedMaxValue(bits);
  return b.create<arith::ConstantOp>(b.getIntegerAttr(type, value));
}

Value Combiner::operator()(Value left, Value right) {
  bool isFloat = isa<FloatType>(left.getType());
  bool isUnsigned = element.isUnsignedInteger();
  switch (kind) {
  case ReduceKind::sum:
    return isFloat ? Value(b.create<arith::AddFOp>(left, right))
                   : Value(b.create<arith::AddIOp>(left, right));
  case ReduceKind::prod:
    return isFloat ? Value(b.create<arith::MulFOp>(left, right))
                   : Value(b.create<arith::MulIOp>(left, right));
  case ReduceKind::max:
  case ReduceKind::min:
    break;
  }
  bool isMax = kind == ReduceKind::max;
  if (!isFloat) {
    if (isUnsigned)
      return isMax ? Value(b.create<arith::MaxUIOp>(left, right))
                   : Value(b.create<arith::MinUIOp>(left, right));
    return isMax ? Value(b.create<arith::MaxSIOp>(left, right))
                 : Value(b.create<arith::MinSIOp>(left, right));
  }
  // PTX's max and min drop a NaN, so it is put back.
  Value number = isMax ? Value(b.create<arith::MaxNumFOp>(left, right))
                       : Value(b.create<arith::MinNumFOp>(left, right));
  Value either =
      b.create<arith::CmpFOp>(arith::CmpFPredicate::UNO, left, right);
  return b.select(
      either,
      b.constant(left.getType(), std::numeric_limits<double>::quiet_NaN()),
      number);
}

Value Combiner::tree(ArrayRef<Value> values) {
  if (values.empty())
    return identity();
  if (values.size() == 1)
    return values.front();
  size_t half = llvm::divideCeil(values.size(), 2);
  Value left = tree(values.take_front(half));
  return (*this)(left, tree(values.drop_front(half)));
}

//===- Between threads
//------------------------------------------------------===//

/// The value of the lane whose number differs in the bits of `mask`. Words
/// only travel whole, so wider values go in halves and narrower ones extended.
static Value shuffle(KernelBuilder &b, Value value, int64_t mask) {
  Type type = value.getType(), i32 = b.getI32Type(), i64 = b.getI64Type();
  unsigned bits = type.getIntOrFloatBitWidth();
  if (bits == 64) {
    Value whole =
        type == i64 ? value : Value(b.create<arith::BitcastOp>(i64, value));
    Value low = b.create<arith::TruncIOp>(i32, whole);
    Value high = b.create<arith::TruncIOp>(
        i32, Value(b.create<arith::ShRUIOp>(whole, b.i64(32))));
    low = b.create<arith::ExtUIOp>(i64, shuffle(b, low, mask));
    high = b.create<arith::ExtUIOp>(i64, shuffle(b, high, mask));
    whole = b.bitOr(low, b.create<arith::ShLIOp>(high, b.i64(32)));
    return type == i64 ? whole : Value(b.create<arith::BitcastOp>(type, whole));
  }
  if (bits < 32)
    return b.create<arith::TruncIOp>(
        type, shuffle(b, b.create<arith::ExtUIOp>(i32, value), mask));
  return b.create<NVVM::ShflOp>(type, b.i32(-1), value, b.i32(mask),
                                b.i32(Chip::kWarpSize - 1),
                                NVVM::ShflKind::bfly, UnitAttr());
}

Value combineLanes(KernelBuilder &b, Combiner &combiner, Value value,
                   int64_t lanes) {
  for (int64_t mask = lanes / 2; mask > 0; mask /= 2)
    value = combiner(value, shuffle(b, value, mask));
  return value;
}

Value combineBlock(KernelBuilder &b, Combiner &combiner, Value value,
                   int64_t threads, Value shared) {
  int64_t warps = threads / Chip::kWarpSize;
  value = combineLanes(b, combiner, value, Chip::kWarpSize);
  if (warps == 1)
    return value;
  Value thread = b.threadX();
  Value lane = b.rem(thread, Chip::kWarpSize);
  Value warp = b.div(thread, Chip::kWarpSize);
  b.barrier(); // an earlier round's values have been read
  b.branchIf(b.equal(lane, b.i32(0)),
             [&] { b.store(value, b.element(shared, value.getType(), warp)); });
  b.barrier();
  Value part = b.load(b.element(shared, value.getType(), b.rem(lane, warps)),
                      value.getType(), Cached::No);
  return combineLanes(b, combiner, part, warps);
}

int64_t chooseLanes(int64_t rows, int64_t vectors, int64_t multiprocessors) {
  // A block a row where warps could not fill the chip, and each of its threads
  // still has something to do.
  if (vectors >= kBlockLanes && rows < multiprocessors * 16)
    return kBlockLanes;
  // A few vectors a lane cover the cost of the shuffles.
  int64_t lanes = 1;
  while (lanes < Chip::kWarpSize && lanes * 2 < vectors)
    lanes *= 2;
  return lanes;
}

//===- Rows
//-----------------------------------------------------------------===//

static SmallVector<AffineIndex> placesFrom(const AffineIndex &first,
                                           int64_t count) {
  SmallVector<AffineIndex> places;
  for (int64_t w = 0; w < count; ++w)
    places.push_back(first + AffineIndex(w));
  return places;
}

RowTail rowTail(KernelBuilder &b, IndexBuilder &indices,
                const RowShare &share) {
  AffineIndex first = share.lane * share.width +
                      AffineIndex(share.fullSteps() * share.stride());
  Value place = indices.materialize(first);
  RowTail tail;
  tail.valid = b.lessThan(place, share.count);
  AffineIndex inside = indices.variable(
      b.minimum(place, share.count - share.width), share.count, share.width);
  tail.at = placesFrom(inside, share.width);
  return tail;
}

SmallVector<Value>
forEachStep(KernelBuilder &b, ExpressionEmitter &emitter, const RowShare &share,
            SmallVector<Value> carried,
            llvm::function_ref<SmallVector<Value>(ArrayRef<AffineIndex>,
                                                  ArrayRef<Value>)>
                body) {
  constexpr int64_t kUnrolled = 4; // steps whose loads are in flight together
  int64_t steps = share.fullSteps();
  auto places = [&](const AffineIndex &first, int64_t count) {
    SmallVector<AffineIndex> at;
    for (int64_t s = 0; s < count; ++s)
      llvm::append_range(at, placesFrom(share.lane * share.width + first +
                                            AffineIndex(s * share.stride()),
                                        share.width));
    return at;
  };
  int64_t rounds = steps <= 2 * kUnrolled ? 0 : steps / kUnrolled;
  if (rounds > 0) {
    SmallVector<Value> initial = {b.i32(0)};
    llvm::append_range(initial, carried);
    carried = b.doWhile(initial, [&](ValueRange values) {
      ExpressionEmitter::Scope scope(emitter);
      AffineIndex round = emitter.index().variable(values[0], rounds);
      SmallVector<Value> current(values.begin() + 1, values.end());
      SmallVector<Value> next = body(
          places(round * (kUnrolled * share.stride()), kUnrolled), current);
      KernelBuilder::Next result;
      Value following = b.add(values[0], 1);
      result.again = b.lessThan(following, rounds);
      result.values = {following};
      llvm::append_range(result.values, next);
      return result;
    });
    carried.erase(carried.begin());
  }
  for (int64_t s = rounds * kUnrolled; s < steps; s += kUnrolled)
    carried = body(
        places(AffineIndex(s * share.stride()), std::min(kUnrolled, steps - s)),
        carried);
  return carried;
}

Value combineRow(
    KernelBuilder &b, ExpressionEmitter &emitter, const RowShare &share,
    Combiner &combiner,
    llvm::function_ref<SmallVector<Value>(ArrayRef<AffineIndex>)> evaluate) {
  SmallVector<Value> parts(share.width, combiner.identity());
  parts = forEachStep(b, emitter, share, parts,
                      [&](ArrayRef<AffineIndex> at, ArrayRef<Value> carried) {
                        SmallVector<Value> next(carried);
                        for (auto [i, value] : llvm::enumerate(evaluate(at))) {
                          Value &part = next[i % share.width];
                          part = combiner(part, value);
                        }
                        return next;
                      });
  if (share.hasTail()) {
    RowTail tail = rowTail(b, emitter.index(), share);
    for (auto [i, value] : llvm::enumerate(evaluate(tail.at)))
      parts[i] =
          combiner(parts[i], b.select(tail.valid, value, combiner.identity()));
  }
  return combiner.tree(parts);
}

} // namespace pascaline
