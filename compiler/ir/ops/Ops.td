// Every op of the graph dialect, one family a file.
#ifndef PASCALINE_IR_OPS
#define PASCALINE_IR_OPS

include "compiler/ir/ops/Contraction.td"
include "compiler/ir/ops/Fused.td"
include "compiler/ir/ops/Movement.td"
include "compiler/ir/ops/Pointwise.td"
include "compiler/ir/ops/Reduction.td"

#endif
