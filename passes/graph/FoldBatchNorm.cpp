// FoldBatchNorm - per-channel scales and shifts go into weights and one bias.
//
// A batch norm at inference is x * scale + shift with one constant of each a
// channel; the importer writes it so. A convolution is linear in its filters,
// so the scale may multiply them beforehand:
//
//   conv(x, w) * s = conv(x, w * s)         and what remains is one add.
//
// Exporters add a bias in front, divide, subtract, or chain two norms, so this
// pass follows the whole chain of such ops, collects one scale and one shift a
// channel in double, and rounds each weight and each shift once. The weights
// are a new constant: others that share the old one keep it.
//
// A chain of one add alone is what it would be turned into: left alone.
//
// Test: test/passes/graph/fold-batch-norm.mlir

#include "passes/Passes.h"

#include "compiler/ir/Constants.h"
#include "compiler/ir/Decisions.h"
#include "compiler/ir/Dialect.h"
#include "passes/graph/FloatValues.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace pascaline {
#define GEN_PASS_DEF_FOLDBATCHNORM
#include "passes/Passes.h.inc"

namespace {

/// y * scale + shift for each output channel.
struct Affine {
  std::vector<double> scale, shift;
};

/// Where a linear op's output channels lie in its result and its weights.
struct Channels {
  OpOperand *weights;
  int64_t resultDim; ///< dimension of the result, counted from the last, from 1
  int64_t weightDim; ///< dimension of the weights
  int64_t count;
};

ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

FailureOr<Channels> channelsOf(Operation *op, PatternRewriter &rewriter) {
  if (auto conv = dyn_cast<ConvOp>(op)) {
    if (!constantValue(conv.getW()))
      return rewriter.notifyMatchFailure(op, "the filters are no constant");
    int64_t rank = shapeOf(conv.getY()).size();
    return Channels{&conv.getWMutable(), rank - 1, 0, shapeOf(conv.getW())[0]};
  }
  auto matmul = cast<MatMulOp>(op);
  if (constantValue(matmul.getB())) {
    int64_t rank = shapeOf(matmul.getB()).size();
    int64_t dim = matmul.getTransposeB() ? rank - 2 : rank - 1;
    return Channels{&matmul.getBMutable(), 1, dim, shapeOf(matmul.getB())[dim]};
  }
  if (constantValue(matmul.getA())) {
    int64_t rank = shapeOf(matmul.getA()).size();
    int64_t dim = matmul.getTransposeA() ? rank - 1 : rank - 2;
    return Channels{&matmul.getAMutable(), 2, dim, shapeOf(matmul.getA())[dim]};
  }
  return rewriter.notifyMatchFailure(op, "neither operand is a constant");
}

/// The constant's value a channel, if it varies along the channels alone and
/// does not widen the result.
std::optional<std::vector<double>>
perChannel(Value constant, const Channels &channels, size_t rank) {
  auto shape = shapeOf(constant);
  if (shape.size() > rank)
    return std::nullopt;
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != 1 && (int64_t(shape.size() - d) != channels.resultDim ||
                          shape[d] != channels.count))
      return std::nullopt;
  auto values = floatValues(constantValue(constant));
  if (!values)
    return std::nullopt;
  if (values->size() == 1)
    values->assign(channels.count, values->front());
  return values;
}

/// Adds the effect of one op of the chain; false where it is none.
bool extend(Affine &affine, Operation *op, Value chain,
            const Channels &channels) {
  if (!isa<AddOp, SubOp, MulOp, DivOp>(op))
    return false;
  bool isLeft = op->getOperand(0) == chain;
  Value other = op->getOperand(isLeft ? 1 : 0);
  if (!constantValue(other))
    return false;
  auto values = perChannel(other, channels, shapeOf(chain).size());
  if (!values)
    return false;
  if (isa<DivOp>(op) && !isLeft)
    return false;
  for (int64_t i = 0; i < channels.count; ++i) {
    double &scale = affine.scale[i], &shift = affine.shift[i];
    double value = (*values)[i];
    if (isa<MulOp>(op) || isa<DivOp>(op)) {
      double factor = isa<MulOp>(op) ? value : 1 / value;
      scale *= factor;
      shift *= factor;
    } else if (isa<AddOp>(op)) {
      shift += value;
    } else { // y - value or value - y
      scale = isLeft ? scale : -scale;
      shift = isLeft ? shift - value : value - shift;
    }
  }
  return true;
}

/// The weights times the scales.
std::vector<double> scaleWeights(std::vector<double> weights,
                                 ArrayRef<int64_t> shape,
                                 const Channels &channels,
                                 ArrayRef<double> scale) {
  int64_t inner = 1;
  for (int64_t d : shape.drop_front(channels.weightDim + 1))
    inner *= d;
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i] *= scale[i / inner % channels.count];
  return weights;
}

template <typename LinearOp> struct FoldChain : OpRewritePattern<LinearOp> {
  FoldChain(MLIRContext *context, Pass::Statistic &numFolded)
      : OpRewritePattern<LinearOp>(context), numFolded(numFolded) {}

  LogicalResult matchAndRewrite(LinearOp op,
                                PatternRewriter &rewriter) const override {
    auto channels = channelsOf(op, rewriter);
    if (failed(channels))
      return failure();
    Affine affine{std::vector<double>(channels->count, 1.0),
                  std::vector<double>(channels->count, 0.0)};
    Value end = op.getY();
    int links = 0;
    bool scales = false;
    while (end.hasOneUse()) {
      Operation *next = *end.getUsers().begin();
      if (!extend(affine, next, end, *channels))
        break;
      end = next->getResult(0);
      scales |= !isa<AddOp>(next);
      ++links;
    }
    if (links == 0)
      return rewriter.notifyMatchFailure(
          op, "no per-channel constant follows, or the result has other uses");
    if (links == 1 && !scales)
      return rewriter.notifyMatchFailure(op, "a bias alone follows");

    auto weights = floatValues(constantValue(channels->weights->get()));
    if (!weights)
      return rewriter.notifyMatchFailure(op, "the weights are elided");
    auto type = cast<RankedTensorType>(channels->weights->get().getType());
    ElementsAttr value =
        makeFloats(type, scaleWeights(std::move(*weights), type.getShape(),
                                      *channels, affine.scale));
    SmallVector<int64_t> biasShape(channels->resultDim, 1);
    biasShape[0] = channels->count;
    ElementsAttr bias = makeFloats(
        RankedTensorType::get(biasShape, type.getElementType()), affine.shift);
    if (!value || !bias)
      return rewriter.notifyMatchFailure(
          op, "a scaled weight or shift is not finite");

    for (Value at = op.getY(); at != end;) {
      Operation *link = *at.getUsers().begin();
      recordDecision(link, Topic::Fate, "folded",
                     "its constants are in the weights and bias of the conv or "
                     "matmul before it");
      at = link->getResult(0);
    }
    rewriter.setInsertionPoint(op);
    Value constant =
        rewriter.create<ConstantOp>(channels->weights->get().getLoc(), value);
    auto linear = cast<LinearOp>(rewriter.clone(*op));
    linear->setOperand(channels->weights->getOperandNumber(), constant);
    Operation *last = end.getDefiningOp();
    rewriter.setInsertionPoint(last);
    Value result = linear.getY();
    bool shifts =
        llvm::any_of(affine.shift, [](double shift) { return shift != 0; });
    if (shifts) {
      Value biasConstant = rewriter.create<ConstantOp>(last->getLoc(), bias);
      result = rewriter.create<AddOp>(last->getLoc(), result, biasConstant);
    }
    rewriter.replaceOp(last, result);
    ++numFolded;
    return success();
  }

  Pass::Statistic &numFolded;
};

struct FoldBatchNorm : impl::FoldBatchNormBase<FoldBatchNorm> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FoldChain<ConvOp>, FoldChain<MatMulOp>>(&getContext(),
                                                         numFolded);
    if (failed(
            applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace pascaline
