// AbsorbPads - explicit padding becomes the padding of the window op after it.
//
// Exporters that pad asymmetrically write Pad and Conv where Conv alone would
// do. A conv pads with zeros itself, without a padded copy in memory:
//
//   before:  %p = pad constant %x, 0       after:  %y = conv %x, pads + %p's
//            %y = conv %p
//
// avg_pool sums, so zeros serve too; they still count in the divisor. In
// max_pool padding never wins, so the fill must be what never wins either: the
// lowest value, or zero where x is a relu's result; and no window may lie
// wholly in the padding, where the fill would show.
//
// Other users of the padded tensor keep it. A transpose between the two, as
// models converted from channels-last frameworks have it, moves above the pad.
//
// Test: test/passes/graph/absorb-pads.mlir

#include "passes/Passes.h"

#include "compiler/ir/Constants.h"
#include "compiler/ir/Decisions.h"
#include "compiler/ir/Dialect.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <limits>

using namespace mlir;

namespace pascaline {
#define GEN_PASS_DEF_ABSORBPADS
#include "passes/Passes.h.inc"

namespace {

/// The pad in front of `op`, if it is constant and of spatial dimensions alone.
FailureOr<PadOp> spatialPad(Operation *op, Value x, PatternRewriter &rewriter) {
  auto pad = x.getDefiningOp<PadOp>();
  if (!pad)
    return rewriter.notifyMatchFailure(op, "not fed by a pad");
  if (pad.getMode() != PadMode::constant)
    return rewriter.notifyMatchFailure(op, "the pad repeats elements");
  for (int d : {0, 1})
    if (pad.getLow()[d] || pad.getHigh()[d])
      return rewriter.notifyMatchFailure(op,
                                         "the pad adds to batch or channels");
  return pad;
}

void recordAbsorbed(PadOp pad) {
  recordDecision(pad, Topic::Fate, "eliminated",
                 "its padding is the padding of the op that reads it");
}

SmallVector<int64_t> sum(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  SmallVector<int64_t> result;
  for (auto [x, y] : llvm::zip_equal(a, b))
    result.push_back(x + y);
  return result;
}

ArrayRef<int64_t> low(PadOp pad) { return pad.getLow().drop_front(2); }
ArrayRef<int64_t> high(PadOp pad) { return pad.getHigh().drop_front(2); }

struct SwapTranspose : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TransposeOp transpose,
                                PatternRewriter &rewriter) const override {
    auto pad = transpose.getX().getDefiningOp<PadOp>();
    if (!pad || !pad->hasOneUse())
      return rewriter.notifyMatchFailure(transpose, "of no pad of its own");
    if (!llvm::all_of(transpose->getUsers(), [](Operation *user) {
          return isa<ConvOp, AvgPoolOp, MaxPoolOp>(user);
        }))
      return rewriter.notifyMatchFailure(transpose, "not for window ops alone");
    SmallVector<int64_t> low, high;
    for (int64_t d : transpose.getPerm()) {
      low.push_back(pad.getLow()[d]);
      high.push_back(pad.getHigh()[d]);
    }
    Value x = rewriter.create<TransposeOp>(transpose.getLoc(), pad.getX(),
                                           transpose.getPerm());
    auto moved = rewriter.create<PadOp>(pad.getLoc(), pad.getMode(), x,
                                        pad.getFill(), low, high);
    rewriter.replaceOp(transpose, moved);
    return success();
  }
};

struct PadConv : OpRewritePattern<ConvOp> {
  PadConv(MLIRContext *context, Pass::Statistic &numAbsorbed)
      : OpRewritePattern(context), numAbsorbed(numAbsorbed) {}

  LogicalResult matchAndRewrite(ConvOp conv,
                                PatternRewriter &rewriter) const override {
    auto pad = spatialPad(conv, conv.getX(), rewriter);
    if (failed(pad))
      return failure();
    if (splatFloat(pad->getFill()) != 0.0)
      return rewriter.notifyMatchFailure(conv, "the fill is not zero");
    recordAbsorbed(*pad);
    rewriter.modifyOpInPlace(conv, [&] {
      conv.setPadsBegin(sum(conv.getPadsBegin(), low(*pad)));
      conv.setPadsEnd(sum(conv.getPadsEnd(), high(*pad)));
      conv.getXMutable().assign(pad->getX());
    });
    ++numAbsorbed;
    return success();
  }

  Pass::Statistic &numAbsorbed;
};

struct PadAvgPool : OpRewritePattern<AvgPoolOp> {
  PadAvgPool(MLIRContext *context, Pass::Statistic &numAbsorbed)
      : OpRewritePattern(context), numAbsorbed(numAbsorbed) {}

  LogicalResult matchAndRewrite(AvgPoolOp pool,
                                PatternRewriter &rewriter) const override {
    auto pad = spatialPad(pool, pool.getX(), rewriter);
    if (failed(pad))
      return failure();
    if (splatFloat(pad->getFill()) != 0.0)
      return rewriter.notifyMatchFailure(pool, "the fill is not zero");
    // The pad's zeros were elements of x, so they count.
    recordAbsorbed(*pad);
    rewriter.modifyOpInPlace(pool, [&] {
      pool.setPadsBegin(sum(pool.getPadsBegin(), low(*pad)));
      pool.setPadsEnd(sum(pool.getPadsEnd(), high(*pad)));
      pool.setCountedBegin(sum(pool.getCountedBegin(), low(*pad)));
      pool.setCountedEnd(sum(pool.getCountedEnd(), high(*pad)));
      pool.getXMutable().assign(pad->getX());
    });
    ++numAbsorbed;
    return success();
  }

  Pass::Statistic &numAbsorbed;
};

struct PadMaxPool : OpRewritePattern<MaxPoolOp> {
  PadMaxPool(MLIRContext *context, Pass::Statistic &numAbsorbed)
      : OpRewritePattern(context), numAbsorbed(numAbsorbed) {}

  LogicalResult matchAndRewrite(MaxPoolOp pool,
                                PatternRewriter &rewriter) const override {
    auto pad = spatialPad(pool, pool.getX(), rewriter);
    if (failed(pad))
      return failure();
    auto fill = splatFloat(pad->getFill());
    bool neverWins =
        fill && (*fill == -std::numeric_limits<double>::infinity() ||
                 (*fill == 0.0 && pad->getX().getDefiningOp<ReluOp>()));
    if (!neverWins)
      return rewriter.notifyMatchFailure(pool, "the fill may win a window");
    auto begin = sum(pool.getPadsBegin(), low(*pad));
    auto end = sum(pool.getPadsEnd(), high(*pad));
    for (auto [d, window] : llvm::enumerate(pool.getWindow()))
      if (pool.getDilations()[d] != 1 || begin[d] >= window || end[d] >= window)
        return rewriter.notifyMatchFailure(
            pool, "a window may lie wholly in the padding");
    recordAbsorbed(*pad);
    rewriter.modifyOpInPlace(pool, [&] {
      pool.setPadsBegin(begin);
      pool.setPadsEnd(end);
      pool.getXMutable().assign(pad->getX());
    });
    ++numAbsorbed;
    return success();
  }

  Pass::Statistic &numAbsorbed;
};

struct AbsorbPads : impl::AbsorbPadsBase<AbsorbPads> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SwapTranspose>(&getContext());
    patterns.add<PadConv, PadAvgPool, PadMaxPool>(&getContext(), numAbsorbed);
    if (failed(
            applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace pascaline
