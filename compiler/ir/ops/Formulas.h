// Formulas.h - a builder of scalar arithmetic for emitScalar.
#pragma once

#include "compiler/ir/ops/Common.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace pascaline::detail {

/// Short names for the ops that the formulas are made of. Integer division by
/// zero, INT_MIN / -1 and shifts by the width are defined here, as what the
/// op summaries say: in LLVM they are not.
class Formulas : public mlir::ImplicitLocOpBuilder {
public:
  using Value = mlir::Value;
  using FP = mlir::arith::CmpFPredicate;
  using Int = mlir::arith::CmpIPredicate;

  Formulas(mlir::OpBuilder &builder, mlir::Location loc)
      : ImplicitLocOpBuilder(loc, builder) {}

  Value number(mlir::Type type, double value);
  Value integer(mlir::Type type, int64_t value);
  Value bits(mlir::Type type, const llvm::APInt &value);

  Value compare(FP predicate, Value a, Value b) {
    return create<mlir::arith::CmpFOp>(predicate, a, b);
  }
  Value compare(Int predicate, Value a, Value b) {
    return create<mlir::arith::CmpIOp>(predicate, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return create<mlir::arith::SelectOp>(condition, a, b);
  }

  Value divide(Value a, Value b, bool isUnsigned);
  Value remainder(Value a, Value b, bool isUnsigned);
  Value power(Value a, Value b, bool isUnsigned);
};

inline bool isFloat(mlir::Value v) {
  return mlir::isa<mlir::FloatType>(v.getType());
}

/// How a tensor's elements read as integers: bool as unsigned.
inline bool isUnsigned(mlir::Value tensor) {
  mlir::Type element = elementOf(tensor);
  return element.isUnsignedInteger() || element.isInteger(1);
}

/// Opens the definition of an op's formula.
#define FORMULA(Op)                                                            \
  mlir::Value Op::emitScalar(mlir::OpBuilder &builder, mlir::Location loc,     \
                             mlir::ValueRange operands)

} // namespace pascaline::detail
