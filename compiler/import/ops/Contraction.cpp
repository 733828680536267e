// Contraction.cpp - MatMul and Gemm.
#include "compiler/import/OpTable.h"
#include "compiler/import/Text.h"
#include "compiler/import/ops/Common.h"
#include "compiler/ir/Dialect.h"
#include "compiler/ir/Types.h"

using namespace mlir;

namespace pascaline::importer {

Value contract(NodeImporter &n, Value a, Value b, bool transposeA,
               bool transposeB) {
  if (n.failed() || isFloat(a))
    return n.create<MatMulOp>(a, b, transposeA, transposeB);
  auto swapped = [&](Value x) {
    Shape perm = axesFrom(0, rankOf(x));
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    return n.transpose(x, perm);
  };
  // [..., m, k, 1] * [..., 1, k, n], summed over k.
  if (transposeA)
    a = swapped(a);
  if (transposeB)
    b = swapped(b);
  if (n.failed())
    return {};
  Shape left(shapeOf(a)), right(shapeOf(b));
  int64_t inner = left.back();
  if (inner != right[right.size() - 2]) {
    (void)n.invalid(cat("has inner dimensions ", inner, " and ",
                        right[right.size() - 2], ", which differ"));
    return {};
  }
  left.push_back(1);
  right.insert(right.end() - 2, 1);
  Value products = n.mul(n.reshape(a, left), n.reshape(b, right));
  if (n.failed())
    return {};
  int64_t rank = rankOf(products);
  Value sum = n.reduceSum(products, {rank - 2});
  if (n.failed())
    return {};
  Shape shape(shapeOf(sum));
  shape.erase(shape.end() - 2);
  return n.reshape(sum, shape);
}

namespace {

LogicalResult importMatMul(NodeImporter &n) {
  Value a = n.input(0), b = n.input(1);
  if (rankOf(a) == 0 || rankOf(b) == 0)
    return n.invalid(cat("takes no scalar: its operands are ",
                         typeText(a.getType()), " and ",
                         typeText(b.getType())));
  if (isBool(a) || elementOf(a) != elementOf(b))
    return n.invalid(cat("does not multiply ", typeText(a.getType()), " and ",
                         typeText(b.getType())));
  // A vector is a row on the left, a column on the right; its 1 goes again.
  bool row = rankOf(a) == 1, column = rankOf(b) == 1;
  if (row)
    a = n.reshape(a, {1, shapeOf(a)[0]});
  if (column)
    b = n.reshape(b, {shapeOf(b)[0], 1});
  Value y = contract(n, a, b);
  if (n.failed())
    return failure();
  Shape shape(shapeOf(y));
  if (column)
    shape.pop_back();
  if (row)
    shape.erase(shape.end() - (column ? 1 : 2));
  return n.done(n.reshape(y, shape));
}

LogicalResult importGemm(NodeImporter &n) {
  Value a = n.input(0), b = n.input(1), c = n.input(2);
  if (rankOf(a) != 2 || rankOf(b) != 2)
    return n.invalid(cat("takes matrices, not ", typeText(a.getType()), " and ",
                         typeText(b.getType())));
  if (isBool(a) || elementOf(a) != elementOf(b))
    return n.invalid(cat("does not multiply ", typeText(a.getType()), " and ",
                         typeText(b.getType())));
  Value y = contract(n, a, b, n.flagAttr("transA"), n.flagAttr("transB"));
  double alpha = n.floatAttr("alpha", 1), beta = n.floatAttr("beta", 1);
  if (alpha != 1)
    y = n.mul(y, n.scalarLike(alpha, y));
  if (n.failed() || !c || beta == 0)
    return n.done(y);
  if (broadcastShapes(shapeOf(y), shapeOf(c)) != Shape(shapeOf(y)))
    return n.invalid(cat("has C ", typeText(c.getType()),
                         ", which does not broadcast to ",
                         typeText(y.getType())));
  if (beta != 1)
    c = n.mul(c, n.scalarLike(beta, c));
  return n.done(n.add(y, c));
}

const OpRow kRows[] = {
    {"MatMul", 1, {2, 2}, {1, 1}, "", importMatMul},
    {"Gemm",
     1,
     {3, 3},
     {1, 1},
     "alpha=f beta=f broadcast=i transA=i transB=i",
     importGemm},
    {"Gemm", 7, {3, 3}, {1, 1}, "alpha=f beta=f transA=i transB=i", importGemm},
    {"Gemm",
     11,
     {2, 3},
     {1, 1},
     "alpha=f beta=f transA=i transB=i",
     importGemm},
};

} // namespace

ArrayRef<OpRow> contractionRows() { return kRows; }

} // namespace pascaline::importer
