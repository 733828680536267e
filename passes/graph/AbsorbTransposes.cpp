// AbsorbTransposes - cancel transposes, and read what remains through flags.
//
// Models converted from channels-last frameworks wrap each convolution in two
// transposes, with biases, activations and concatenations between one pair and
// the next:
//
//   %a = conv ...                          %a = conv ...
//   %t = transpose %a {0, 2, 3, 1}   ->    %r = relu (add %a, bias as Cx1x1)
//   %r = relu (add %t, bias)
//   %u = transpose %r {0, 3, 1, 2}
//
// From each transpose we look up through the ops that work alike in any order
// of dimensions. If on every path it meets a transpose that it undoes (or a
// constant, which is transposed here), it moves up there and both are gone.
// One path without is enough to leave all as it is: the transpose would only
// have moved.
//
// Test: test/passes/graph/absorb-transposes.mlir

#include "passes/Passes.h"

#include "compiler/ir/Constants.h"
#include "compiler/ir/Dialect.h"
#include "compiler/ir/Shapes.h"
#include "compiler/ir/Types.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cstring>

using namespace mlir;

namespace pascaline {
#define GEN_PASS_DEF_ABSORBTRANSPOSES
#include "passes/Passes.h.inc"

namespace {

using Perm = ArrayRef<int64_t>;

RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Whether transposing by `first`, then by `second` changes nothing.
bool undoes(Perm second, Perm first) {
  if (first.size() != second.size())
    return false;
  for (size_t i = 0; i < second.size(); ++i)
    if (first[second[i]] != int64_t(i))
      return false;
  return true;
}

/// `value` with `rank` dimensions, ones in front.
Value withRank(Value value, size_t rank, PatternRewriter &rewriter) {
  auto type = typeOf(value);
  if (size_t(type.getRank()) == rank)
    return value;
  Shape shape(rank - type.getRank(), 1);
  llvm::append_range(shape, type.getShape());
  return rewriter.create<ReshapeOp>(
      value.getLoc(), RankedTensorType::get(shape, type.getElementType()),
      value);
}

/// A constant transposed now, whatever its size; null where it is elided.
ElementsAttr transposeConstant(ElementsAttr value, RankedTensorType to,
                               Perm perm) {
  auto from = cast<RankedTensorType>(value.getType());
  if (value.isSplat())
    return cast<DenseElementsAttr>(value).resizeSplat(to);
  auto bytes = elementBytes(value);
  if (!bytes)
    return {};
  size_t size = elementBytes(from.getElementType());
  Shape own = rowMajorStrides(from.getShape()), index(to.getRank(), 0);
  SmallVector<char> result(bytes->size());
  int64_t at = 0;
  for (char *out = result.begin(); out != result.end(); out += size) {
    std::memcpy(out, bytes->data() + at * size, size);
    for (int64_t d = to.getRank(); d-- > 0;) {
      at += own[perm[d]];
      if (++index[d] < to.getDimSize(d))
        break;
      at -= own[perm[d]] * index[d];
      index[d] = 0;
    }
  }
  return makeElements(to, result);
}

/// The most ops that a search looks at.
constexpr size_t kMostVisits = 200;

bool isMovable(Operation *op) {
  return isa<ScalarOpInterface, ConcatOp, SoftmaxOp, ReduceOp, PadOp, SliceOp>(
      op);
}

/// The operands that follow when `op` is transposed: all but pad's fill.
ValueRange movedOperands(Operation *op) {
  return isa<PadOp>(op) ? op->getOperands().take_front(1)
                        : ValueRange(op->getOperands());
}

/// Looks up from a transpose for its inverses.
class Search {
public:
  explicit Search(TransposeOp root) : perm(root.getPerm()), root(root) {}

  bool run() { return visit(root.getX()) && undone > 0 && isClosed(); }

private:
  bool visit(Value value);
  bool visitOperand(Value operand);

  /// What moves must not be needed where it was.
  bool isClosed() const {
    return llvm::all_of(moved, [&](Operation *op) {
      return llvm::all_of(op->getUsers(), [&](Operation *user) {
        return user == root || moved.contains(user);
      });
    });
  }

  Perm perm;
  TransposeOp root;
  llvm::SmallPtrSet<Operation *, 16> moved;
  int undone = 0;
};

bool Search::visitOperand(Value operand) {
  if (typeOf(operand).getNumElements() == 1)
    return true; // the same in any order
  if (size_t(typeOf(operand).getRank()) == perm.size())
    return visit(operand);
  return bool(constantValue(operand)); // small beside what it broadcasts to
}

bool Search::visit(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || moved.size() > kMostVisits)
    return false;
  if (moved.contains(op))
    return true;
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    if (!undoes(perm, transpose.getPerm()))
      return false;
    ++undone;
    return true;
  }
  if (isa<ConstantOp>(op))
    return true;
  if (!isMovable(op))
    return false;
  moved.insert(op);
  return llvm::all_of(movedOperands(op),
                      [&](Value operand) { return visitOperand(operand); });
}

/// `values` in the order that the transpose brings dimensions into.
DenseI64ArrayAttr permuted(ArrayRef<int64_t> values, Perm perm,
                           Builder &builder) {
  SmallVector<int64_t> result;
  for (int64_t d : perm)
    result.push_back(values[d]);
  return builder.getDenseI64ArrayAttr(result);
}

/// Rewrites what the search has found.
class Mover {
public:
  Mover(Perm perm, PatternRewriter &rewriter)
      : perm(perm), rewriter(rewriter) {}

  /// What transposing `value` gives.
  Value move(Value value);

private:
  Value moveOperand(Value operand);
  void moveAttributes(Operation *op);

  Perm perm;
  PatternRewriter &rewriter;
  llvm::DenseMap<Value, Value> done;
};

Value Mover::moveOperand(Value operand) {
  if (typeOf(operand).getNumElements() == 1)
    return operand;
  if (size_t(typeOf(operand).getRank()) == perm.size())
    return move(operand);
  Value full = withRank(operand, perm.size(), rewriter);
  return rewriter.create<TransposeOp>(operand.getLoc(), full, perm);
}

void Mover::moveAttributes(Operation *op) {
  auto newPlace = [&](int64_t axis) {
    return int64_t(llvm::find(perm, axis) - perm.begin());
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case<ConcatOp, SoftmaxOp>(
          [&](auto o) { o.setAxis(newPlace(o.getAxis())); })
      .Case<ReduceOp>([&](ReduceOp o) {
        SmallVector<int64_t> axes;
        for (int64_t axis : o.getAxes())
          axes.push_back(newPlace(axis));
        llvm::sort(axes);
        o.setAxes(axes);
      })
      .Case<PadOp>([&](PadOp o) {
        o.setLowAttr(permuted(o.getLow(), perm, rewriter));
        o.setHighAttr(permuted(o.getHigh(), perm, rewriter));
      })
      .Case<SliceOp>([&](SliceOp o) {
        o.setStartsAttr(permuted(o.getStarts(), perm, rewriter));
        o.setStepsAttr(permuted(o.getSteps(), perm, rewriter));
        o.setSizesAttr(permuted(o.getSizes(), perm, rewriter));
      });
}

Value Mover::move(Value value) {
  if (Value known = done.lookup(value))
    return known;
  Operation *op = value.getDefiningOp();
  if (auto transpose = dyn_cast<TransposeOp>(op))
    return done[value] = transpose.getX();
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  if (isa<ConstantOp>(op)) {
    rewriter.setInsertionPointAfter(op);
    return done[value] =
               rewriter.create<TransposeOp>(value.getLoc(), value, perm);
  }
  IRMapping map;
  for (Value operand : movedOperands(op))
    map.map(operand, moveOperand(operand));
  Operation *moved = rewriter.clone(*op, map);
  moveAttributes(moved);
  Shape shape;
  for (int64_t d : perm)
    shape.push_back(typeOf(value).getDimSize(d));
  moved->getResult(0).setType(
      RankedTensorType::get(shape, typeOf(value).getElementType()));
  return done[value] = moved->getResult(0);
}

struct Cancel : OpRewritePattern<TransposeOp> {
  Cancel(MLIRContext *context, Pass::Statistic &numAbsorbed)
      : OpRewritePattern(context), numAbsorbed(numAbsorbed) {}

  LogicalResult matchAndRewrite(TransposeOp transpose,
                                PatternRewriter &rewriter) const override {
    Value x = transpose.getX();
    if (ElementsAttr value = constantValue(x)) {
      ElementsAttr moved = transposeConstant(value, typeOf(transpose.getY()),
                                             transpose.getPerm());
      if (!moved)
        return rewriter.notifyMatchFailure(transpose, "the constant is elided");
      rewriter.replaceOpWithNewOp<ConstantOp>(transpose, moved);
      ++numAbsorbed;
      return success();
    }
    if (!Search(transpose).run())
      return rewriter.notifyMatchFailure(
          transpose, "on some path upwards nothing undoes it");
    SmallVector<int64_t> perm(transpose.getPerm());
    rewriter.replaceOp(transpose, Mover(perm, rewriter).move(x));
    ++numAbsorbed;
    return success();
  }

  Pass::Statistic &numAbsorbed;
};

/// Whether a transpose swaps the last two dimensions and nothing else.
bool swapsMatrix(TransposeOp transpose) {
  auto perm = transpose.getPerm();
  int64_t rank = perm.size();
  if (rank < 2 || perm[rank - 1] != rank - 2 || perm[rank - 2] != rank - 1)
    return false;
  return llvm::is_sorted(perm.drop_back(2));
}

struct SwapMatMul : OpRewritePattern<MatMulOp> {
  SwapMatMul(MLIRContext *context, Pass::Statistic &numAbsorbed)
      : OpRewritePattern(context), numAbsorbed(numAbsorbed) {}

  LogicalResult matchAndRewrite(MatMulOp matmul,
                                PatternRewriter &rewriter) const override {
    auto a = matmul.getA().getDefiningOp<TransposeOp>();
    auto b = matmul.getB().getDefiningOp<TransposeOp>();
    bool swapsA = a && swapsMatrix(a), swapsB = b && swapsMatrix(b);
    if (!swapsA && !swapsB)
      return rewriter.notifyMatchFailure(
          matmul, "no operand is a matrix with its dimensions swapped");
    rewriter.modifyOpInPlace(matmul, [&] {
      if (swapsA) {
        matmul.getAMutable().assign(a.getX());
        matmul.setTransposeA(!matmul.getTransposeA());
      }
      if (swapsB) {
        matmul.getBMutable().assign(b.getX());
        matmul.setTransposeB(!matmul.getTransposeB());
      }
    });
    numAbsorbed += swapsA + swapsB;
    return success();
  }

  Pass::Statistic &numAbsorbed;
};

struct AbsorbTransposes : impl::AbsorbTransposesBase<AbsorbTransposes> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<Cancel, SwapMatMul>(&getContext(), numAbsorbed);
    if (failed(
            applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace pascaline
