// Activation.cpp - elementwise activations. Composed ones are computed in f32
// and rounded once, so that f16 storage loses nothing in between.
#include "compiler/import/OpTable.h"
#include "compiler/import/Text.h"
#include "compiler/import/ops/Common.h"
#include "compiler/ir/Dialect.h"
#include "compiler/ir/Types.h"

#include <cmath>

using namespace mlir;

namespace pascaline::importer {
namespace {

template <typename Op> LogicalResult importUnary(NodeImporter &n) {
  return n.done(n.create<Op>(n.input(0)));
}

Value less(NodeImporter &n, Value a, Value b) {
  return n.create<CompareOp>(ComparePredicate::lt, a, b);
}

Value clampUnit(NodeImporter &n, Value x) {
  return n.max(n.min(x, n.scalarLike(1, x)), n.scalarLike(0, x));
}

// log(1 + e^x) without overflow: max(x, 0) + log(1 + e^-|x|).
Value softplus(NodeImporter &n, Value x) {
  Value one = n.scalarLike(1, x), zero = n.scalarLike(0, x);
  Value tail = n.create<ExpOp>(n.create<NegOp>(n.create<AbsOp>(x)));
  return n.add(n.max(x, zero), n.create<LogOp>(n.add(one, tail)));
}

// An operator y = f(x) of one tensor, in f32 for narrower floats.
template <typename F> LogicalResult compose(NodeImporter &n, F f) {
  if (!isFloat(n.input(0)))
    return n.unsupported("does not take " + typeText(n.input(0).getType()));
  Value x = n.widen(n.input(0));
  return n.done(n.narrow(f(x), n.input(0)));
}

LogicalResult importLeakyRelu(NodeImporter &n) {
  return compose(n, [&](Value x) {
    Value slope = n.scalarLike(n.floatAttr("alpha", 0.01f), x);
    return n.select(less(n, x, n.scalarLike(0, x)), n.mul(x, slope), x);
  });
}

LogicalResult importPRelu(NodeImporter &n) {
  Value x = n.input(0), slope = n.input(1);
  // Before opset 7 a slope of c elements meant one a channel.
  if (n.opset < 7 && rankOf(slope) == 1 && shapeOf(slope)[0] != 1)
    slope = alongChannels(n, slope, rankOf(x));
  if (broadcastShapes(shapeOf(x), shapeOf(slope)) != Shape(shapeOf(x)))
    return n.invalid(cat("has a slope ", typeText(slope.getType()),
                         " that does not broadcast to ",
                         typeText(x.getType())));
  return n.done(n.select(less(n, x, n.scalarLike(0, x)), n.mul(x, slope), x));
}

LogicalResult importThresholdedRelu(NodeImporter &n) {
  return compose(n, [&](Value x) {
    Value above = less(n, n.scalarLike(n.floatAttr("alpha", 1), x), x);
    return n.select(above, x, n.scalarLike(0, x));
  });
}

LogicalResult importElu(NodeImporter &n) {
  return compose(n, [&](Value x) {
    Value alpha = n.scalarLike(n.floatAttr("alpha", 1), x);
    Value below = n.mul(alpha, n.sub(n.create<ExpOp>(x), n.scalarLike(1, x)));
    return n.select(less(n, x, n.scalarLike(0, x)), below, x);
  });
}

LogicalResult importSelu(NodeImporter &n) {
  // Opset 1 had its defaults one decimal shorter.
  bool old = n.opset < 6;
  double alpha = n.floatAttr("alpha", old ? 1.6732 : 1.67326319217681884765625);
  double gamma = n.floatAttr("gamma", old ? 1.0507 : 1.05070102214813232421875);
  return compose(n, [&](Value x) {
    Value below = n.mul(n.scalarLike(alpha, x),
                        n.sub(n.create<ExpOp>(x), n.scalarLike(1, x)));
    Value above = less(n, n.scalarLike(0, x), x);
    return n.mul(n.scalarLike(gamma, x), n.select(above, x, below));
  });
}

LogicalResult importCelu(NodeImporter &n) {
  double alpha = n.floatAttr("alpha", 1);
  return compose(n, [&](Value x) {
    Value zero = n.scalarLike(0, x), one = n.scalarLike(1, x);
    Value grown = n.create<ExpOp>(n.div(x, n.scalarLike(alpha, x)));
    Value below = n.mul(n.scalarLike(alpha, x), n.sub(grown, one));
    return n.add(n.max(zero, x), n.min(zero, below));
  });
}

LogicalResult importSoftplus(NodeImporter &n) {
  return compose(n, [&](Value x) { return softplus(n, x); });
}

LogicalResult importSoftsign(NodeImporter &n) {
  return compose(n, [&](Value x) {
    return n.div(x, n.add(n.scalarLike(1, x), n.create<AbsOp>(x)));
  });
}

LogicalResult importMish(NodeImporter &n) {
  return compose(
      n, [&](Value x) { return n.mul(x, n.create<TanhOp>(softplus(n, x))); });
}

LogicalResult importHardSigmoid(NodeImporter &n) {
  return compose(n, [&](Value x) {
    Value line = n.add(n.mul(x, n.scalarLike(n.floatAttr("alpha", 0.2f), x)),
                       n.scalarLike(n.floatAttr("beta", 0.5f), x));
    return clampUnit(n, line);
  });
}

LogicalResult importHardSwish(NodeImporter &n) {
  return compose(n, [&](Value x) {
    Value line =
        n.add(n.mul(x, n.scalarLike(1.0 / 6, x)), n.scalarLike(0.5, x));
    return n.mul(x, clampUnit(n, line));
  });
}

LogicalResult importSwish(NodeImporter &n) {
  return compose(n, [&](Value x) {
    double alpha = n.floatAttr("alpha", 1);
    Value scaled = alpha == 1 ? x : n.mul(x, n.scalarLike(alpha, x));
    return n.mul(x, n.create<SigmoidOp>(scaled));
  });
}

LogicalResult importGelu(NodeImporter &n) {
  StringRef approximate = n.stringAttr("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    return n.invalid("has approximate=" + quoted(approximate) +
                     "; it is none or tanh");
  return compose(n, [&](Value x) {
    Value one = n.scalarLike(1, x), half = n.scalarLike(0.5, x), inner;
    if (approximate == "none") {
      inner = n.create<ErfOp>(n.mul(x, n.scalarLike(std::sqrt(0.5), x)));
    } else {
      Value cube = n.mul(n.mul(x, x), x);
      Value sum = n.add(x, n.mul(cube, n.scalarLike(0.044715, x)));
      inner =
          n.create<TanhOp>(n.mul(sum, n.scalarLike(std::sqrt(2 / M_PI), x)));
    }
    return n.mul(n.mul(x, half), n.add(one, inner));
  });
}

LogicalResult importShrink(NodeImporter &n) {
  // Takes integers too, which are computed in f32 as the specification does.
  Value x = isFloat(n.input(0)) ? n.widen(n.input(0))
                                : n.castTo(n.input(0), n.builder.getF32Type());
  Value bias = n.scalarLike(n.floatAttr("bias", 0), x);
  double lambd = n.floatAttr("lambd", 0.5);
  Value below = less(n, x, n.scalarLike(-lambd, x));
  Value above = less(n, n.scalarLike(lambd, x), x);
  Value y = n.select(above, n.sub(x, bias), n.scalarLike(0, x));
  return n.done(n.narrow(n.select(below, n.add(x, bias), y), n.input(0)));
}

constexpr Arity kOne{1, 1}, kTwo{2, 2};

const OpRow kRows[] = {
    {"Relu", 1, kOne, kOne, "consumed_inputs=I", importUnary<ReluOp>},
    {"Sigmoid", 1, kOne, kOne, "consumed_inputs=I", importUnary<SigmoidOp>},
    {"Tanh", 1, kOne, kOne, "consumed_inputs=I", importUnary<TanhOp>},
    {"LeakyRelu", 1, kOne, kOne, "alpha=f consumed_inputs=I", importLeakyRelu},
    {"PRelu", 1, kTwo, kOne, "consumed_inputs=I", importPRelu},
    {"ThresholdedRelu", 10, kOne, kOne, "alpha=f", importThresholdedRelu},
    {"Elu", 1, kOne, kOne, "alpha=f consumed_inputs=I", importElu},
    {"Selu", 1, kOne, kOne, "alpha=f gamma=f consumed_inputs=I", importSelu},
    {"Celu", 12, kOne, kOne, "alpha=f", importCelu},
    {"Softplus", 1, kOne, kOne, "", importSoftplus},
    {"Softsign", 1, kOne, kOne, "", importSoftsign},
    {"Mish", 18, kOne, kOne, "", importMish},
    {"HardSigmoid", 1, kOne, kOne, "alpha=f beta=f consumed_inputs=I",
     importHardSigmoid},
    {"HardSwish", 14, kOne, kOne, "", importHardSwish},
    {"Swish", 24, kOne, kOne, "alpha=f", importSwish},
    {"Gelu", 20, kOne, kOne, "approximate=s", importGelu},
    {"Shrink", 9, kOne, kOne, "bias=f lambd=f", importShrink},
};

} // namespace

ArrayRef<OpRow> activationRows() { return kRows; }

} // namespace pascaline::importer
