// OperandLoader - emits what OperandPlan decided.

#include "compiler/kernels/contraction/Operand.h"
#include "compiler/kernels/contraction/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace pascaline {

OperandLoader::OperandLoader(KernelBuilder &b, const Operand &operand,
                             StringRef tag, int64_t tileX, const Tile &tile)
    : b(b), operand(operand),
      plan(planOperand(operand, tileX, tile.bk, tile.threads())), tileX(tileX),
      bk(tile.bk), threads(tile.threads()), tag(tag) {}

static SmallVector<int64_t> extentsOf(ArrayRef<Axis> axes) {
  return llvm::map_to_vector(axes, [](Axis axis) { return axis.extent; });
}

SmallVector<Value> OperandLoader::setUp(Value pointer, ArrayRef<Value> batch,
                                        Value column, Value tile) {
  Value thread = b.threadX();
  lane = b.rem(thread, std::min(plan.columns, threads));
  row = b.div(thread, std::min(plan.columns, threads));
  firstRow = b.add(b.mul(tile, bk / plan.alongK), row);

  Value offset = b.i32(operand.offset + plan.baseOffset);
  for (auto [coordinate, stride] : llvm::zip(batch, operand.batchStrides))
    offset = b.add(offset, b.mul(coordinate, stride));
  if (plan.walk == OperandPlan::Linear)
    offset = b.add(offset, b.mul(b.add(firstRow, -plan.padding / plan.alongK),
                                 plan.loadStride));
  else if (plan.walk == OperandPlan::TileTable)
    offset = b.add(offset, b.mul(row, plan.loadStride));

  for (int64_t j = 0; j < plan.columnsPerThread; ++j) {
    Value x = b.add(column, b.mul(b.add(lane, j * threads), plan.alongX));
    // Columns past the last are read at the last: never stored, and nothing
    // outside the tensor is touched.
    if (operand.xExtent() % tileX)
      x = b.minimum(x, operand.xExtent() - plan.alongX);
    SmallVector<Value> at = b.coordinates(x, extentsOf(operand.x));
    Value mine = offset;
    for (auto [coordinate, axis] : llvm::zip(at, operand.x))
      mine = b.add(mine, b.mul(coordinate, axis.stride));
    bases.push_back(b.element(pointer, operand.element, mine));

    if (plan.guard == OperandPlan::Mask) {
      Value mask = b.i32(0);
      int64_t bit = 0;
      for (const Bound &bound : plan.bounds)
        for (int64_t i = 0; i < operand.k[bound.kAxis].extent; ++i, ++bit) {
          Value place = b.add(b.mul(at[bound.xAxis], bound.xStep),
                              i * bound.kStep + bound.offset);
          Value inside = b.lessThanUnsigned(place, b.i32(bound.limit));
          mask = b.bitOr(mask,
                         b.select(inside, b.i32(int64_t(1) << bit), b.i32(0)));
        }
      masks.push_back(mask);
    } else if (plan.guard == OperandPlan::Coordinates) {
      SmallVector<Value> &mine = places.emplace_back();
      for (const Bound &bound : plan.bounds)
        mine.push_back(b.mul(at[bound.xAxis], bound.xStep));
    }
  }
  if (plan.walk == OperandPlan::Linear)
    return bases;

  Value entry = b.mul(tile, plan.entriesPerTile());
  if (plan.walk == OperandPlan::RowTable)
    entry = b.add(entry, row);
  Value table =
      b.byteOffset(b.table(tag, plan.table), b.mul(entry, plan.words * 4));
  SmallVector<Value> state = {table};
  llvm::append_range(state, loadEntries(table));
  return state;
}

size_t OperandLoader::stateSize() const {
  return plan.walk == OperandPlan::Linear
             ? plan.columnsPerThread
             : 1 + plan.entriesPerThread() * plan.words;
}

SmallVector<Value> OperandLoader::loadEntries(Value table) {
  SmallVector<Value> words;
  for (int64_t i = 0; i < plan.entriesPerThread(); ++i) {
    Value at = b.byteOffset(table, i * plan.rowStep * plan.words * 4);
    if (plan.words == 1) {
      words.push_back(b.load(at, b.getI32Type(), Cached::ReadOnly));
      continue;
    }
    Value entry = b.load(at, VectorType::get({plan.words}, b.getI32Type()),
                         Cached::ReadOnly);
    for (int64_t w = 0; w < plan.words; ++w)
      words.push_back(b.extract(entry, w));
  }
  return words;
}

Value OperandLoader::sharedOffset() {
  Value at = b.add(b.mul(row, plan.alongK * tileX), b.mul(lane, plan.alongX));
  return b.mul(at, 4);
}

Value OperandLoader::guardOf(int64_t column, ValueRange entry) {
  switch (plan.guard) {
  case OperandPlan::None:
    return nullptr;
  case OperandPlan::Mask:
    return b.equal(b.bitAnd(masks[column], entry[1]), entry[1]);
  case OperandPlan::Coordinates: {
    Value inside;
    for (auto [i, bound] : llvm::enumerate(plan.bounds)) {
      Value place = b.add(places[column][i], entry[1 + i]);
      inside = b.both(inside, b.lessThanUnsigned(place, b.i32(bound.limit)));
    }
    return inside;
  }
  }
  llvm_unreachable("all guards are handled");
}

Value OperandLoader::finishElement(Value value, Value condition) {
  if (!operand.prologue)
    return value;
  auto apply = [&](Value element) {
    if (!element.getType().isF32() && isa<FloatType>(element.getType()))
      element = b.create<arith::ExtFOp>(b.getF32Type(), element);
    Value result = operand.prologue(b, element);
    // Outside, the element is zero whatever the prologue makes of it.
    return condition ? b.select(condition, result, b.zero(result.getType()))
                     : result;
  };
  auto vector = dyn_cast<VectorType>(value.getType());
  if (!vector)
    return apply(value);
  SmallVector<Value> lanes;
  for (int64_t i = 0; i < vector.getNumElements(); ++i)
    lanes.push_back(apply(b.extract(value, i)));
  return b.vectorOf(lanes);
}

SmallVector<Value> OperandLoader::fetch(ValueRange state, Value more,
                                        bool first) {
  int64_t width = plan.alongX * plan.alongK;
  Type type = operand.element;
  if (width > 1)
    type = VectorType::get({width}, type);
  int64_t rowBytes =
      plan.rowStep * plan.loadStride * storageBytes(operand.element);

  SmallVector<Value> fetched;
  for (int64_t j = 0; j < plan.columnsPerThread; ++j) {
    Value guard;
    for (int64_t i = 0; i < plan.rowsPerThread; ++i) {
      if (plan.walk == OperandPlan::Linear) {
        Value pointer = state[j];
        if (first && plan.padding) {
          Value at = b.mul(b.add(firstRow, i * plan.rowStep), plan.alongK);
          guard = b.lessThan(b.i32(plan.padding - 1), at);
        }
        Value value;
        if (guard || !more)
          value = b.loadIf(b.both(guard, more), pointer, i * rowBytes, type);
        else
          value = b.loadIfElseAny(more, pointer, i * rowBytes, type);
        fetched.push_back(finishElement(value, guard));
        continue;
      }
      bool perTile = plan.walk == OperandPlan::TileTable;
      ValueRange entry =
          state.slice(1 + (perTile ? 0 : i * plan.words), plan.words);
      if (i == 0 || !perTile)
        guard = guardOf(j, entry);
      Value offset = b.create<arith::ExtUIOp>(b.getI64Type(), entry[0]);
      Value pointer = b.byteOffset(bases[j], offset);
      int64_t displacement = perTile ? i * rowBytes : 0;
      Value value;
      if (guard || !more)
        value = b.loadIf(b.both(guard, more), pointer, displacement, type);
      else
        value = b.loadIfElseAny(more, pointer, displacement, type);
      fetched.push_back(finishElement(value, guard));
    }
  }
  return fetched;
}

SmallVector<Value> OperandLoader::advance(ValueRange state) {
  SmallVector<Value> next;
  if (plan.walk == OperandPlan::Linear) {
    int64_t bytes =
        bk / plan.alongK * plan.loadStride * storageBytes(operand.element);
    for (Value pointer : state)
      next.push_back(b.byteOffset(pointer, bytes));
    return next;
  }
  Value table = b.byteOffset(state[0], plan.entriesPerTile() * plan.words * 4);
  next.push_back(table);
  llvm::append_range(next, loadEntries(table));
  return next;
}

void OperandLoader::stage(ArrayRef<Value> fetched, Value stage) {
  auto widen = [&](Value value) -> Value {
    Type type = getElementTypeOrSelf(value.getType());
    if (type.isF16() || type.isBF16()) {
      Type wide = b.getF32Type();
      if (auto vector = dyn_cast<VectorType>(value.getType()))
        wide = VectorType::get(vector.getShape(), wide);
      return b.create<arith::ExtFOp>(wide, value);
    }
    return value;
  };
  size_t next = 0;
  for (int64_t j = 0; j < plan.columnsPerThread; ++j)
    for (int64_t i = 0; i < plan.rowsPerThread; ++i) {
      Value value = widen(fetched[next++]);
      int64_t at =
          (i * plan.rowStep * plan.alongK * tileX + j * threads * plan.alongX) *
          4;
      if (plan.alongK == 1) {
        b.store(value, b.byteOffset(stage, at));
        continue;
      }
      for (int64_t lane = 0; lane < plan.alongK; ++lane)
        b.store(b.extract(value, lane),
                b.byteOffset(stage, at + lane * tileX * 4));
    }
}

} // namespace pascaline
