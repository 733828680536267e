// PlanDialect.h - the plan: launches over buffers, what the artifact holds.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"

#include "compiler/ir/plan/PlanDialect.h.inc"
#include "compiler/ir/plan/PlanEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "compiler/ir/plan/PlanTypes.h.inc"

#define GET_OP_CLASSES
#include "compiler/ir/plan/PlanOps.h.inc"

namespace pascaline::plan {

/// Where a value lies: bytes of a buffer.
struct BufferRange {
  BufferOp buffer;
  int64_t start = 0, bytes = 0;
};

/// Follows views to the buffer behind them.
BufferRange rangeOf(mlir::Value value);

} // namespace pascaline::plan
