// AffineIndex.h - index arithmetic at generation time.
//
// A kernel names an element by a few loop and thread variables. Most of the
// address is then known symbolically: which operands are contiguous across a
// vector of elements, which do not move at all, whether an access is aligned,
// and whether a division by a constant (a reshape, a broadcast dimension) has
// an answer without dividing. An index is kept as
//     sum of coefficient * variable + constant
// with a range and a known multiple for each variable, and turned into i32
// code only where a load or a store needs it.
//
//   offset = 3136 * m + p + 2,  0 <= m < 64,  0 <= p < 3136, p a multiple of 4
//   offset / 3136 = m           offset % 3136 = p + 2        no code either way
//
// Test: test/compiler/AffineIndexTest.cpp
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

#include <map>
#include <utility>
#include <vector>

namespace pascaline {

/// Sum of coefficient * variable + constant. Variables are numbers given out
/// by an IndexBuilder, so that equal indices compare equal and emission order
/// does not depend on addresses.
struct AffineIndex {
  llvm::SmallVector<std::pair<unsigned, int64_t>, 4> terms; ///< by variable
  int64_t constant = 0;

  AffineIndex() = default;
  AffineIndex(int64_t constant) : constant(constant) {}

  AffineIndex operator+(const AffineIndex &other) const;
  AffineIndex operator*(int64_t factor) const;
  bool isConstant() const { return terms.empty(); }
  bool operator==(const AffineIndex &other) const {
    return terms == other.terms && constant == other.constant;
  }
};

/// Makes variables, simplifies, emits. The values it emits are reused where
/// the same expression comes again; saveState/restoreState bracket code in a
/// region whose values must not be used outside.
class IndexBuilder {
public:
  IndexBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  /// The i32 `value`, of which the caller promises 0 <= value < extent and
  /// that it is a multiple of `multiple`.
  AffineIndex variable(mlir::Value value, int64_t extent, int64_t multiple = 1);

  /// Floor division and remainder by a positive constant of an index that is
  /// not negative where the code runs.
  AffineIndex divide(const AffineIndex &index, int64_t divisor);
  AffineIndex modulo(const AffineIndex &index, int64_t divisor);

  /// Smallest and largest value, and a number that divides every value.
  std::pair<int64_t, int64_t> range(const AffineIndex &index) const;
  int64_t multipleOf(const AffineIndex &index) const;

  /// `index` itself when its range lies in [0, extent), else a variable that
  /// holds it with the promise that it does.
  AffineIndex within(const AffineIndex &index, int64_t extent);

  /// The i32 value of the index, emitted at the builder's insertion point.
  mlir::Value materialize(const AffineIndex &index);

  struct Memo {
    std::map<std::vector<int64_t>, unsigned> derived;
    std::map<std::vector<int64_t>, mlir::Value> emitted;
  };
  Memo saveState() const { return memo; }
  void restoreState(Memo saved) { memo = std::move(saved); }

private:
  struct Variable {
    mlir::Value value;
    int64_t extent;
    int64_t multiple;
  };

  /// index = quotient * divisor + rest with rest in [0, divisor): both, by
  /// algebra where the ranges allow, else by emitted code.
  struct Split;
  Split split(const AffineIndex &index, int64_t divisor, bool wantRest);
  AffineIndex derive(bool quotient, const AffineIndex &index, int64_t divisor);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  std::vector<Variable> variables;
  std::map<std::pair<void *, int64_t>, unsigned> known;
  Memo memo;
};

} // namespace pascaline
