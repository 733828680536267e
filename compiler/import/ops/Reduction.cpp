// Reduction.cpp - the Reduce family.
#include "compiler/import/OpTable.h"
#include "compiler/import/Text.h"
#include "compiler/import/ops/Common.h"
#include "compiler/ir/Dialect.h"
#include "compiler/ir/Types.h"

using namespace mlir;

namespace pascaline::importer {
namespace {

// The axes to reduce: an attribute at first, an input from `inputSince` on.
// Without axes all of them, or none where noop_with_empty_axes says so.
std::optional<Shape> reducedAxes(NodeImporter &n, int64_t inputSince) {
  int64_t rank = rankOf(n.input(0));
  std::optional<Shape> given;
  if (n.opset < inputSince) {
    given = n.intsAttr("axes");
  } else if (n.has(1)) {
    given = n.constantInput(1, "its axes");
    if (!given)
      return std::nullopt;
  }
  if (!given || given->empty())
    return n.flagAttr("noop_with_empty_axes") ? Shape() : axesFrom(0, rank);
  return n.axes(*given, rank);
}

Value reduce(NodeImporter &n, ReduceKind kind, Value x,
             ArrayRef<int64_t> axes) {
  return axes.empty() ? x : n.create<ReduceOp>(kind, x, axes);
}

Value logSumExp(NodeImporter &n, Value x, ArrayRef<int64_t> axes) {
  // Shifted by the largest element, or by 0 where that is infinite.
  Value most = reduce(n, ReduceKind::max, x, axes);
  Value infinite = n.create<IsInfOp>(most, true, true);
  Value shift = n.select(infinite, n.scalarLike(0, x), most);
  Value sum = n.reduceSum(n.create<ExpOp>(n.sub(x, shift)), axes);
  return n.add(n.create<LogOp>(sum), shift);
}

enum class Kind {
  Sum,
  Prod,
  Max,
  Min,
  Mean,
  L1,
  L2,
  LogSum,
  LogSumExp,
  Square
};

template <Kind kind> LogicalResult importReduce(NodeImporter &n) {
  std::optional<Shape> axes = reducedAxes(n, kind == Kind::Sum ? 13 : 18);
  if (!axes)
    return failure();
  Value x = n.input(0);
  bool inFloats =
      kind == Kind::L2 || kind == Kind::LogSum || kind == Kind::LogSumExp;
  // Sums of squares and the like leave f16's range before the end; bools are
  // ordered as numbers.
  Value wide = x;
  if (isBool(x) && (kind == Kind::Max || kind == Kind::Min))
    wide = n.castTo(x, n.builder.getIntegerType(8, /*isSigned=*/false));
  else if (!isFloat(x) && inFloats)
    wide = n.castTo(x, n.builder.getF32Type());
  else if (kind != Kind::Max && kind != Kind::Min)
    wide = n.widen(x);

  Value y;
  switch (kind) {
  case Kind::Sum:
    y = n.reduceSum(wide, *axes);
    break;
  case Kind::Prod:
    y = reduce(n, ReduceKind::prod, wide, *axes);
    break;
  case Kind::Max:
    y = reduce(n, ReduceKind::max, wide, *axes);
    break;
  case Kind::Min:
    y = reduce(n, ReduceKind::min, wide, *axes);
    break;
  case Kind::Mean:
    y = n.reduceMean(wide, *axes);
    break;
  case Kind::L1:
    y = n.reduceSum(n.create<AbsOp>(wide), *axes);
    break;
  case Kind::L2:
    y = n.create<SqrtOp>(n.reduceSum(n.mul(wide, wide), *axes));
    break;
  case Kind::LogSum:
    y = n.create<LogOp>(n.reduceSum(wide, *axes));
    break;
  case Kind::LogSumExp:
    y = logSumExp(n, wide, *axes);
    break;
  case Kind::Square:
    y = n.reduceSum(n.mul(wide, wide), *axes);
    break;
  }
  y = n.narrow(y, x);
  if (n.failed() || n.flagAttr("keepdims", true))
    return n.done(y);
  Shape shape;
  for (auto [i, dim] : llvm::enumerate(shapeOf(y)))
    if (!llvm::is_contained(*axes, static_cast<int64_t>(i)))
      shape.push_back(dim);
  return n.done(n.reshape(y, shape));
}

constexpr Arity kOne{1, 1}, kTwo{1, 2};
constexpr const char *kOld = "axes=I keepdims=i";
constexpr const char *kNew = "keepdims=i noop_with_empty_axes=i";

const OpRow kRows[] = {
    {"ReduceSum", 1, kOne, kOne, kOld, importReduce<Kind::Sum>},
    {"ReduceSum", 13, kTwo, kOne, kNew, importReduce<Kind::Sum>},
    {"ReduceProd", 1, kOne, kOne, kOld, importReduce<Kind::Prod>},
    {"ReduceProd", 18, kTwo, kOne, kNew, importReduce<Kind::Prod>},
    {"ReduceMax", 1, kOne, kOne, kOld, importReduce<Kind::Max>},
    {"ReduceMax", 18, kTwo, kOne, kNew, importReduce<Kind::Max>},
    {"ReduceMin", 1, kOne, kOne, kOld, importReduce<Kind::Min>},
    {"ReduceMin", 18, kTwo, kOne, kNew, importReduce<Kind::Min>},
    {"ReduceMean", 1, kOne, kOne, kOld, importReduce<Kind::Mean>},
    {"ReduceMean", 18, kTwo, kOne, kNew, importReduce<Kind::Mean>},
    {"ReduceL1", 1, kOne, kOne, kOld, importReduce<Kind::L1>},
    {"ReduceL1", 18, kTwo, kOne, kNew, importReduce<Kind::L1>},
    {"ReduceL2", 1, kOne, kOne, kOld, importReduce<Kind::L2>},
    {"ReduceL2", 18, kTwo, kOne, kNew, importReduce<Kind::L2>},
    {"ReduceLogSum", 1, kOne, kOne, kOld, importReduce<Kind::LogSum>},
    {"ReduceLogSum", 18, kTwo, kOne, kNew, importReduce<Kind::LogSum>},
    {"ReduceLogSumExp", 1, kOne, kOne, kOld, importReduce<Kind::LogSumExp>},
    {"ReduceLogSumExp", 18, kTwo, kOne, kNew, importReduce<Kind::LogSumExp>},
    {"ReduceSumSquare", 1, kOne, kOne, kOld, importReduce<Kind::Square>},
    {"ReduceSumSquare", 18, kTwo, kOne, kNew, importReduce<Kind::Square>},
};

} // namespace

ArrayRef<OpRow> reductionRows() { return kRows; }

} // namespace pascaline::importer
