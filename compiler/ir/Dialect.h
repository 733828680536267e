// Dialect.h - the graph dialect: what the importer builds and the passes
// rewrite.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir {
class PatternRewriter;
} // namespace mlir

namespace pascaline {
class DecisionLog;
} // namespace pascaline

#include "compiler/ir/Dialect.h.inc"
#include "compiler/ir/Enums.h.inc"
#include "compiler/ir/Interfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/ir/Attributes.h.inc"

namespace pascaline {
class YieldOp;
} // namespace pascaline

#define GET_OP_CLASSES
#include "compiler/ir/Ops.h.inc"
