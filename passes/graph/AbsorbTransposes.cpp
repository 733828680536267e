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
// For each permutation that occurs, the ops that work alike in any order of
// dimensions run transposed where that leaves the least to move in all
// (TransposeMoves.h). A transposed constant is transposed here, and a swap of a
// matrix's dimensions becomes matmul's flag.
//
// Test: test/passes/graph/absorb-transposes.mlir

#include "passes/Passes.h"

#include "compiler/ir/Constants.h"
#include "compiler/ir/Decisions.h"
#include "compiler/ir/Dialect.h"
#include "compiler/ir/Shapes.h"
#include "compiler/ir/Types.h"

#include "passes/graph/TransposeMoves.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

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

struct FoldConstant : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TransposeOp transpose,
                                PatternRewriter &rewriter) const override {
    ElementsAttr value = constantValue(transpose.getX());
    if (!value)
      return rewriter.notifyMatchFailure(transpose, "of no constant");
    ElementsAttr moved =
        transposeConstant(value, typeOf(transpose.getY()), transpose.getPerm());
    if (!moved)
      return rewriter.notifyMatchFailure(transpose, "the constant is elided");
    recordDecision(transpose, Topic::Fate, "folded",
                   "a constant is transposed when the model is compiled");
    rewriter.replaceOpWithNewOp<ConstantOp>(transpose, moved);
    return success();
  }
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
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MatMulOp matmul,
                                PatternRewriter &rewriter) const override {
    auto a = matmul.getA().getDefiningOp<TransposeOp>();
    auto b = matmul.getB().getDefiningOp<TransposeOp>();
    bool swapsA = a && swapsMatrix(a), swapsB = b && swapsMatrix(b);
    if (!swapsA && !swapsB)
      return rewriter.notifyMatchFailure(
          matmul, "no operand is a matrix with its dimensions swapped");
    for (TransposeOp swap :
         {swapsA ? a : TransposeOp(), swapsB ? b : TransposeOp()})
      if (swap)
        recordDecision(swap, Topic::Fate, "eliminated",
                       "the matmul that reads it takes the matrix as it was");
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
    return success();
  }
};

struct AbsorbTransposes : impl::AbsorbTransposesBase<AbsorbTransposes> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    set.add<FoldConstant, SwapMatMul>(context);
    TransposeOp::getCanonicalizationPatterns(set, context);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    if (getOperation().isDeclaration())
      return;
    Block &block = getOperation().getBody().front();
    size_t before = llvm::range_size(block.getOps<TransposeOp>());
    // What moves for one permutation can make a move for another worth while;
    // each leaves less to move, but what is left is estimated anew.
    constexpr int kMostRounds = 8;
    bool changed = true;
    for (int round = 0; changed && round < kMostRounds; ++round) {
      if (failed(applyPatternsAndFoldGreedily(getOperation(), patterns)))
        return signalPassFailure();
      changed = false;
      for (const SmallVector<int64_t> &perm : permutations(block))
        changed |= moveTransposes(block, perm);
    }
    size_t after = llvm::range_size(block.getOps<TransposeOp>());
    numAbsorbed += before > after ? before - after : 0;
  }

  /// The inverses of the function's transposes, then their own, each once.
  static SmallVector<SmallVector<int64_t>> permutations(Block &block) {
    SmallVector<SmallVector<int64_t>> own, all;
    for (auto transpose : block.getOps<TransposeOp>())
      if (SmallVector<int64_t> perm(transpose.getPerm());
          !llvm::is_contained(own, perm))
        own.push_back(perm);
    for (const SmallVector<int64_t> &perm : own)
      all.push_back(inverseOf(perm));
    for (const SmallVector<int64_t> &perm : own)
      if (!llvm::is_contained(all, perm))
        all.push_back(perm);
    return all;
  }

  FrozenRewritePatternSet patterns;
};

} // namespace
} // namespace pascaline
