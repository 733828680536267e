// Index algebra: what needs no code, what needs one division, and that emitted
// code is right (KernelBuilder's folding makes constants of it here).

#include "compiler/kernels/AffineIndex.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace pascaline;

namespace {
class AffineIndexTest : public testing::Test {
protected:
  AffineIndexTest()
      : module((context.loadDialect<arith::ArithDialect>(),
                ModuleOp::create(UnknownLoc::get(&context)))),
        builder(&context), loc(UnknownLoc::get(&context)),
        indices(builder, loc) {
    builder.setInsertionPointToStart(module->getBody());
    for (int i = 0; i < 3; ++i)
      values.push_back(builder.create<arith::ConstantIntOp>(loc, 0, 32));
  }

  size_t emitted() { return module->getBody()->getOperations().size() - 3; }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  OpBuilder builder;
  Location loc;
  IndexBuilder indices;
  SmallVector<Value> values;
};
} // namespace

TEST_F(AffineIndexTest, DividesByAlgebraWhereRangesAllow) {
  AffineIndex m = indices.variable(values[0], 64);
  AffineIndex p = indices.variable(values[1], 3136, 4);
  AffineIndex place = m * 3136 + p + AffineIndex(3);
  EXPECT_EQ(indices.divide(place, 3136), m);
  EXPECT_EQ(indices.modulo(place, 3136), p + AffineIndex(3));
  EXPECT_EQ(indices.modulo(indices.divide(place, 3136), 64), m);
  EXPECT_EQ(emitted(), 0u);
}

TEST_F(AffineIndexTest, KnowsThatAMultipleLeavesRoom) {
  // p is at most 3132, so p + 3 stays in the row; p + 4 may not.
  AffineIndex p = indices.variable(values[0], 3136, 4);
  EXPECT_EQ(indices.divide(p + AffineIndex(3), 3136), AffineIndex(0));
  EXPECT_EQ(emitted(), 0u);
  indices.divide(p + AffineIndex(4), 3136);
  EXPECT_GT(emitted(), 0u);
}

TEST_F(AffineIndexTest, MultiplesLeaveNoRest) {
  AffineIndex m = indices.variable(values[0], 62, 4);
  EXPECT_EQ(indices.modulo(m + AffineIndex(3), 4), AffineIndex(3));
  // Before the start of something, as promised not before its place.
  EXPECT_EQ(indices.modulo(m + AffineIndex(-1), 4), AffineIndex(3));
  EXPECT_EQ(indices.divide(m + AffineIndex(-1), 4),
            indices.divide(m + AffineIndex(-4), 4));
}

TEST_F(AffineIndexTest, NeighboursShareADivision) {
  AffineIndex t = indices.variable(values[0], 1000);
  AffineIndex first = indices.divide(t * 4, 12);
  size_t before = emitted();
  EXPECT_GT(before, 0u);
  for (int w = 1; w < 4; ++w) {
    EXPECT_EQ(indices.divide(t * 4 + AffineIndex(w), 12), first);
    EXPECT_EQ(indices.modulo(t * 4 + AffineIndex(w), 12),
              indices.modulo(t * 4, 12) + AffineIndex(w));
  }
  EXPECT_EQ(indices.multipleOf(indices.modulo(t * 4, 12)) % 4, 0);
}

TEST_F(AffineIndexTest, TreatsTheWholeWhereAPartIsNegative) {
  // 4 a - b is never negative here, but -b alone is.
  AffineIndex a = indices.variable(values[0], 10);
  AffineIndex b = indices.variable(values[1], 5);
  AffineIndex quotient = indices.divide(a * 4 + b * -1, 4);
  EXPECT_FALSE(quotient == a);
  EXPECT_GT(emitted(), 0u);
}

TEST_F(AffineIndexTest, ForgetsWhatARegionEmitted) {
  AffineIndex t = indices.variable(values[0], 100);
  IndexBuilder::Memo saved = indices.saveState();
  AffineIndex inside = indices.divide(t, 7);
  EXPECT_EQ(indices.divide(t, 7), inside);
  indices.restoreState(saved);
  EXPECT_FALSE(indices.divide(t, 7) == inside);
}

TEST_F(AffineIndexTest, AddsAndCancels) {
  AffineIndex a = indices.variable(values[0], 10);
  AffineIndex b = indices.variable(values[1], 10);
  AffineIndex sum = a * 3 + b + AffineIndex(2);
  EXPECT_EQ(sum + a * -3 + b * -1, AffineIndex(2));
  EXPECT_EQ(indices.range(sum), (std::pair<int64_t, int64_t>(2, 38)));
  EXPECT_EQ(indices.variable(values[2], 1), AffineIndex(0));
}
