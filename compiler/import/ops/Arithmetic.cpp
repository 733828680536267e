// Arithmetic.cpp - elementwise mathematics.
#include "compiler/import/OpTable.h"
#include "compiler/import/Text.h"
#include "compiler/import/ops/Common.h"
#include "compiler/ir/Constants.h"
#include "compiler/ir/Dialect.h"
#include "compiler/ir/Types.h"

using namespace mlir;

namespace pascaline::importer {

std::optional<std::pair<Value, Value>> legacyOperands(NodeImporter &n) {
  Value a = n.input(0), b = n.input(1);
  if (n.opset >= 7)
    return std::make_pair(a, b);
  // Before opset 7 b was aligned at `axis` of a, or equal in shape.
  if (!n.flagAttr("broadcast")) {
    if (shapeOf(a) == shapeOf(b))
      return std::make_pair(a, b);
    (void)n.invalid(cat("has operands ", typeText(a.getType()), " and ",
                        typeText(b.getType()),
                        ", which differ without broadcast=1 at this opset"));
    return std::nullopt;
  }
  if (!n.hasAttr("axis"))
    return std::make_pair(a, b);
  std::optional<int64_t> axis = n.axis(n.intAttr("axis", 0), rankOf(a));
  if (!axis)
    return std::nullopt;
  if (*axis + rankOf(b) > rankOf(a)) {
    (void)n.invalid(cat("cannot align ", typeText(b.getType()), " at axis ",
                        *axis, " of ", typeText(a.getType())));
    return std::nullopt;
  }
  Shape shape(shapeOf(b));
  shape.resize(rankOf(a) - *axis, 1);
  return std::make_pair(a, n.reshape(b, shape));
}

namespace {

template <typename Op> LogicalResult importUnary(NodeImporter &n) {
  return n.done(n.create<Op>(n.input(0)));
}

template <typename Op> LogicalResult importBinary(NodeImporter &n) {
  auto operands = legacyOperands(n);
  if (!operands)
    return failure();
  return n.done(n.create<Op>(operands->first, operands->second));
}

template <typename Op> LogicalResult importVariadic(NodeImporter &n) {
  Value result = n.input(0);
  for (unsigned i = 1; i < n.numInputs(); ++i) {
    if (!n.has(i))
      return n.invalid(cat("leaves input ", i, " out"));
    result = n.create<Op>(result, n.input(i));
  }
  return n.done(result);
}

LogicalResult importMean(NodeImporter &n) {
  Value sum = n.widen(n.input(0));
  for (unsigned i = 1; i < n.numInputs(); ++i) {
    if (!n.has(i))
      return n.invalid(cat("leaves input ", i, " out"));
    sum = n.add(sum, n.widen(n.input(i)));
  }
  if (n.numInputs() > 1)
    sum = n.mul(sum, n.scalarLike(1.0 / n.numInputs(), sum));
  return n.done(n.narrow(sum, n.input(0)));
}

LogicalResult importPow(NodeImporter &n) {
  auto operands = legacyOperands(n);
  if (!operands)
    return failure();
  auto [x, exponent] = *operands;
  // Small integer powers are products: exact, and far cheaper.
  std::optional<double> power = splatFloat(exponent);
  if (auto integers = integerValues(exponent))
    if (!integers->empty() && llvm::all_equal(*integers))
      power = static_cast<double>(integers->front());
  if (power && (*power == 1 || *power == 2 || *power == 3) &&
      broadcastShapes(shapeOf(x), shapeOf(exponent)) == Shape(shapeOf(x))) {
    if (*power == 1)
      return n.done(x);
    Value wide = n.widen(x), square = n.mul(wide, wide);
    return n.done(n.narrow(*power == 2 ? square : n.mul(square, wide), x));
  }
  if (elementOf(x) == elementOf(exponent))
    return n.done(n.create<PowOp>(x, exponent));
  // The result has the base's type; an integer base is raised in floats.
  if (!isFloat(x) && isFloat(exponent)) {
    Value base = n.widen(n.castTo(x, elementOf(exponent)));
    return n.done(n.narrow(n.create<PowOp>(base, n.widen(exponent)), x));
  }
  return n.done(n.create<PowOp>(x, n.castTo(exponent, elementOf(x))));
}

LogicalResult importMod(NodeImporter &n) {
  if (n.flagAttr("fmod"))
    return importBinary<FmodOp>(n);
  if (isFloat(n.input(0)) && n.opset < 28)
    return n.invalid("takes floats only with fmod=1 at this opset");
  return importBinary<ModOp>(n);
}

LogicalResult importClip(NodeImporter &n) {
  Value x = n.input(0), low, high;
  if (n.opset < 11) {
    if (n.hasAttr("min"))
      low = n.scalarLike(n.floatAttr("min", 0), x);
    if (n.hasAttr("max"))
      high = n.scalarLike(n.floatAttr("max", 0), x);
  } else {
    low = n.input(1);
    high = n.input(2);
  }
  for (Value *bound : {&low, &high}) {
    if (!*bound)
      continue;
    if (elementCount(shapeOf(*bound)) != 1)
      return n.invalid(cat("takes its bounds as scalars, not as ",
                           typeText(bound->getType())));
    *bound = n.reshape(*bound, {});
  }
  Value y = x;
  if (low)
    y = n.max(y, low);
  if (high)
    y = n.min(y, high);
  return n.done(y);
}

//===- Functions of angles, from the few that the dialect has
//--------------===//

LogicalResult importTan(NodeImporter &n) {
  Value x = n.widen(n.input(0));
  return n.done(
      n.narrow(n.div(n.create<SinOp>(x), n.create<CosOp>(x)), n.input(0)));
}

// asin(x) = atan(x / sqrt(1 - x^2)); at the ends atan of an infinity.
Value asin(NodeImporter &n, Value x) {
  Value one = n.scalarLike(1, x);
  Value rest = n.mul(n.sub(one, x), n.add(one, x));
  return n.create<AtanOp>(n.div(x, n.create<SqrtOp>(rest)));
}

LogicalResult importAsin(NodeImporter &n) {
  return n.done(n.narrow(asin(n, n.widen(n.input(0))), n.input(0)));
}

LogicalResult importAcos(NodeImporter &n) {
  // 2 atan(sqrt((1 - x) / (1 + x))) keeps its precision near 1.
  Value x = n.widen(n.input(0)), one = n.scalarLike(1, x);
  Value ratio = n.div(n.sub(one, x), n.add(one, x));
  Value y =
      n.mul(n.scalarLike(2, x), n.create<AtanOp>(n.create<SqrtOp>(ratio)));
  return n.done(n.narrow(y, n.input(0)));
}

LogicalResult importSinh(NodeImporter &n) {
  // (e^x - e^-x) / 2 cancels near 0, where x + x^3 / 6 + x^5 / 120 is exact
  // enough (|x| < 0.5: error below x^7 / 5040).
  Value x = n.widen(n.input(0)), half = n.scalarLike(0.5, x);
  Value up = n.create<ExpOp>(x), down = n.create<ExpOp>(n.create<NegOp>(x));
  Value wide = n.sub(n.mul(up, half), n.mul(down, half));
  Value square = n.mul(x, x);
  Value series = n.add(n.scalarLike(1.0 / 120, x),
                       n.mul(square, n.scalarLike(1.0 / 5040, x)));
  series = n.add(n.scalarLike(1.0 / 6, x), n.mul(square, series));
  series = n.add(x, n.mul(n.mul(x, square), series));
  Value small =
      n.create<CompareOp>(ComparePredicate::lt, n.create<AbsOp>(x), half);
  return n.done(n.narrow(n.select(small, series, wide), n.input(0)));
}

LogicalResult importCosh(NodeImporter &n) {
  Value x = n.widen(n.input(0)), half = n.scalarLike(0.5, x);
  Value up = n.create<ExpOp>(x), down = n.create<ExpOp>(n.create<NegOp>(x));
  return n.done(
      n.narrow(n.add(n.mul(up, half), n.mul(down, half)), n.input(0)));
}

LogicalResult importAsinh(NodeImporter &n) {
  // sign(x) log(|x| + sqrt(x^2 + 1)).
  Value x = n.widen(n.input(0)), one = n.scalarLike(1, x);
  Value size = n.create<AbsOp>(x);
  Value root = n.create<SqrtOp>(n.add(n.mul(x, x), one));
  Value y = n.mul(n.create<SignOp>(x), n.create<LogOp>(n.add(size, root)));
  return n.done(n.narrow(y, n.input(0)));
}

LogicalResult importAcosh(NodeImporter &n) {
  Value x = n.widen(n.input(0)), one = n.scalarLike(1, x);
  Value root = n.create<SqrtOp>(n.mul(n.sub(x, one), n.add(x, one)));
  return n.done(n.narrow(n.create<LogOp>(n.add(x, root)), n.input(0)));
}

LogicalResult importAtanh(NodeImporter &n) {
  Value x = n.widen(n.input(0)), one = n.scalarLike(1, x);
  Value ratio = n.div(n.add(one, x), n.sub(one, x));
  Value y = n.mul(n.scalarLike(0.5, x), n.create<LogOp>(ratio));
  return n.done(n.narrow(y, n.input(0)));
}

constexpr const char *kOld = "consumed_inputs=I";
constexpr const char *kOldBinary = "axis=i broadcast=i consumed_inputs=I";
constexpr Arity kOne{1, 1}, kTwo{2, 2}, kSome{1, kAny};

const OpRow kRows[] = {
    {"Add", 1, kTwo, kOne, kOldBinary, importBinary<AddOp>},
    {"Add", 7, kTwo, kOne, "", importBinary<AddOp>},
    {"Sub", 1, kTwo, kOne, kOldBinary, importBinary<SubOp>},
    {"Sub", 7, kTwo, kOne, "", importBinary<SubOp>},
    {"Mul", 1, kTwo, kOne, kOldBinary, importBinary<MulOp>},
    {"Mul", 7, kTwo, kOne, "", importBinary<MulOp>},
    {"Div", 1, kTwo, kOne, kOldBinary, importBinary<DivOp>},
    {"Div", 7, kTwo, kOne, "", importBinary<DivOp>},
    {"Pow", 1, kTwo, kOne, "axis=i broadcast=i", importPow},
    {"Pow", 7, kTwo, kOne, "", importPow},
    {"Mod", 10, kTwo, kOne, "fmod=i", importMod},
    {"Neg", 1, kOne, kOne, kOld, importUnary<NegOp>},
    {"Abs", 1, kOne, kOne, kOld, importUnary<AbsOp>},
    {"Sign", 9, kOne, kOne, "", importUnary<SignOp>},
    {"Reciprocal", 1, kOne, kOne, kOld, importUnary<ReciprocalOp>},
    {"Sqrt", 1, kOne, kOne, kOld, importUnary<SqrtOp>},
    {"Exp", 1, kOne, kOne, kOld, importUnary<ExpOp>},
    {"Log", 1, kOne, kOne, kOld, importUnary<LogOp>},
    {"Erf", 9, kOne, kOne, "", importUnary<ErfOp>},
    {"Floor", 1, kOne, kOne, kOld, importUnary<FloorOp>},
    {"Ceil", 1, kOne, kOne, kOld, importUnary<CeilOp>},
    {"Round", 11, kOne, kOne, "", importUnary<RoundOp>},
    {"Sum", 1, kSome, kOne, kOld, importVariadic<AddOp>},
    {"Max", 1, kSome, kOne, kOld, importVariadic<MaxOp>},
    {"Min", 1, kSome, kOne, kOld, importVariadic<MinOp>},
    {"Mean", 1, kSome, kOne, kOld, importMean},
    {"Clip", 1, kOne, kOne, "max=f min=f consumed_inputs=I", importClip},
    {"Clip", 11, {1, 3}, kOne, "", importClip},
    {"Sin", 7, kOne, kOne, "", importUnary<SinOp>},
    {"Cos", 7, kOne, kOne, "", importUnary<CosOp>},
    {"Tan", 7, kOne, kOne, "", importTan},
    {"Asin", 7, kOne, kOne, "", importAsin},
    {"Acos", 7, kOne, kOne, "", importAcos},
    {"Atan", 7, kOne, kOne, "", importUnary<AtanOp>},
    {"Sinh", 9, kOne, kOne, "", importSinh},
    {"Cosh", 9, kOne, kOne, "", importCosh},
    {"Asinh", 9, kOne, kOne, "", importAsinh},
    {"Acosh", 9, kOne, kOne, "", importAcosh},
    {"Atanh", 9, kOne, kOne, "", importAtanh},
};

} // namespace

ArrayRef<OpRow> arithmeticRows() { return kRows; }

} // namespace pascaline::importer
