// OperandPlan - the decisions of Operand.h: widths, walk, guard, table.

#include "compiler/kernels/contraction/Operand.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace pascaline {

static int64_t product(ArrayRef<Axis> axes) {
  int64_t result = 1;
  for (Axis axis : axes)
    result *= axis.extent;
  return result;
}

int64_t Operand::xExtent() const { return product(x); }
int64_t Operand::kExtent() const { return product(k); }

/// Merges and drops axes of one side; `axisOf` reaches a bound's axis there.
static void simplifySide(SmallVector<Axis> &axes, Operand &operand,
                         unsigned Bound::*axisOf) {
  auto isBound = [&](unsigned i) {
    return any_of(operand.bounds,
                  [&](const Bound &bound) { return bound.*axisOf == i; });
  };
  for (unsigned i = axes.size(); i-- > 0 && axes.size() > 1;) {
    bool drop = axes[i].extent == 1;
    bool merge = !drop && i + 1 < axes.size() && !isBound(i + 1) &&
                 axes[i].stride == axes[i + 1].extent * axes[i + 1].stride;
    if (isBound(i) || (!drop && !merge))
      continue;
    if (merge)
      axes[i + 1].extent *= axes[i].extent;
    axes.erase(axes.begin() + i);
    for (Bound &bound : operand.bounds)
      if (bound.*axisOf > i)
        --(bound.*axisOf);
  }
}

/// Whether some x and k of the operand fall outside.
static bool canFail(const Bound &bound, const Operand &operand) {
  int64_t low = bound.offset, high = bound.offset;
  for (int64_t reach : {bound.xStep * (operand.x[bound.xAxis].extent - 1),
                        bound.kStep * (operand.k[bound.kAxis].extent - 1)})
    (reach < 0 ? low : high) += reach;
  return low < 0 || high >= bound.limit;
}

void simplify(Operand &operand) {
  erase_if(operand.bounds,
           [&](const Bound &bound) { return !canFail(bound, operand); });
  simplifySide(operand.x, operand, &Bound::xAxis);
  simplifySide(operand.k, operand, &Bound::kAxis);
}

/// Whether four neighbours along an axis list can be one aligned load, of 128
/// bits or, of halves, 64: they lie side by side, and nothing else that moves
/// an address breaks the alignment.
static bool isVector(ArrayRef<Axis> along, ArrayRef<Axis> across,
                     const Operand &operand) {
  constexpr int64_t kWidth = 4;
  if (along.back().stride != 1 || along.back().extent % kWidth ||
      operand.offset % kWidth || storageBytes(operand.element) > 4)
    return false;
  auto aligned = [](Axis axis) { return axis.stride % kWidth == 0; };
  return all_of(along.drop_back(), aligned) && all_of(across, aligned) &&
         all_of(operand.batchStrides,
                [](int64_t stride) { return stride % kWidth == 0; });
}

static constexpr int32_t kNever = 1 << 30; ///< no column's mask, no coordinate

/// The entry of a row: offset and guard words.
static void appendEntry(OperandPlan &plan, const Operand &operand, int64_t row,
                        int64_t elementBytes) {
  SmallVector<int32_t> words(plan.words, 0);
  if (row < 0) {
    if (plan.guard != OperandPlan::None)
      words[1] = kNever;
    plan.table.append(words);
    return;
  }
  SmallVector<int64_t> at(operand.k.size());
  int64_t offset = -plan.baseOffset;
  for (size_t i = at.size(); i-- > 0;) {
    at[i] = row % operand.k[i].extent;
    row /= operand.k[i].extent;
    offset += at[i] * operand.k[i].stride;
  }
  words[0] = static_cast<int32_t>(offset * elementBytes);
  int64_t bit = 0;
  for (auto [i, bound] : enumerate(plan.bounds)) {
    if (plan.guard == OperandPlan::Coordinates) {
      words[1 + i] = at[bound.kAxis] * bound.kStep + bound.offset;
      continue;
    }
    words[1] |= 1 << (bit + at[bound.kAxis]);
    bit += operand.k[bound.kAxis].extent;
  }
  plan.table.append(words);
}

OperandPlan planOperand(const Operand &operand, int64_t tileX, int64_t bk,
                        int64_t threads) {
  OperandPlan plan;
  plan.bounds = operand.bounds;
  int64_t k = operand.kExtent();
  int64_t padded = (k + bk - 1) / bk * bk;
  plan.padding = padded - k;

  bool boundInner = any_of(plan.bounds, [&](const Bound &bound) {
    return bound.xAxis + 1 == operand.x.size();
  });
  if (!boundInner && isVector(operand.x, operand.k, operand))
    plan.alongX = 4;
  else if (isVector(operand.k, operand.x, operand) &&
           none_of(plan.bounds, [&](const Bound &bound) {
             return bound.kAxis + 1 == operand.k.size();
           }))
    plan.alongK = 4;

  plan.columns = tileX / plan.alongX;
  int64_t rows = bk / plan.alongK;
  plan.columnsPerThread = std::max<int64_t>(1, plan.columns / threads);
  plan.rowStep = std::max<int64_t>(1, threads / plan.columns);
  plan.rowsPerThread = rows / plan.rowStep;

  // Where a load takes the whole innermost axis (the lanes of packed channels),
  // rows of loads follow the one around it.
  bool takesAxis =
      operand.k.size() > 1 && operand.k.back().extent == plan.alongK;
  const Axis &rowAxis = operand.k[operand.k.size() - (takesAxis ? 2 : 1)];
  plan.loadStride = takesAxis ? rowAxis.stride : plan.alongK * rowAxis.stride;
  size_t outer = operand.k.size() - (takesAxis ? 2 : 1);
  bool rowsBound = any_of(
      plan.bounds, [&](const Bound &bound) { return bound.kAxis >= outer; });
  if (outer == 0 && plan.bounds.empty())
    return plan;

  int64_t run = rowAxis.extent * (takesAxis ? plan.alongK : 1);
  plan.walk = run % bk == 0 && !rowsBound ? OperandPlan::TileTable
                                          : OperandPlan::RowTable;
  int64_t bits = 0;
  for (const Bound &bound : plan.bounds)
    bits += operand.k[bound.kAxis].extent;
  if (bits > 30) {
    plan.guard = OperandPlan::Coordinates;
    plan.words = plan.bounds.size() == 1 ? 2 : 4;
  } else if (bits > 0 || plan.padding > 0) {
    plan.guard = OperandPlan::Mask;
    plan.words = 2;
  }

  for (Axis axis : operand.k)
    if (axis.stride < 0)
      plan.baseOffset += axis.stride * (axis.extent - 1);
  int64_t elementBytes = storageBytes(operand.element);
  int64_t step = plan.walk == OperandPlan::TileTable ? bk : plan.alongK;
  for (int64_t row = -plan.padding; row < k; row += step)
    appendEntry(plan, operand, row, elementBytes);
  // The last tile's iteration holds the entries of the next one and loads those
  // of the one after it.
  for (int64_t i = 0; i < 2 * plan.entriesPerTile(); ++i)
    appendEntry(plan, operand, -1, elementBytes);
  return plan;
}

std::optional<std::string> checkOperand(const Operand &operand) {
  constexpr int64_t kReach = int64_t(1) << 31;
  int64_t bytes = storageBytes(operand.element), reach = 0;
  for (Axis axis : operand.k)
    reach += std::abs(axis.stride) * (axis.extent - 1) * bytes;
  // Table entries are unsigned words, a load's displacement a signed one.
  if (reach >= kReach)
    return formatv("an operand's rows span {0} bytes, more than the {1} that "
                   "a contraction can reach",
                   reach, kReach)
        .str();
  if (operand.bounds.size() > 3)
    return formatv("an operand has {0} bounded dimensions, more than 3",
                   operand.bounds.size())
        .str();
  return std::nullopt;
}

} // namespace pascaline
