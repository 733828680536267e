// What passes decide about nodes, and why; compiler/ir/Decisions.h.

// RUN: pascaline-opt %s --pascaline-graph --decisions -o /dev/null 2>&1 | FileCheck %s
// RUN: pascaline-opt %s --pascaline-graph -o /dev/null 2>&1 | FileCheck %s --check-prefix=SILENT --allow-empty
// RUN: pascaline-opt %s --pascaline-graph --pascaline-store-half --decisions -o /dev/null 2>&1 | FileCheck %s --check-prefix=HALF

// CHECK:      fate: "pad": eliminated: its padding is the padding of the op that reads it
// CHECK-NEXT: fusion: "last" with "first": not fused: each is the core of a kernel of its own
// CHECK-NEXT: fusion: "total" with "last": not fused: each is the core of a kernel of its own
// CHECK-NOT:  {{.}}

// SILENT-NOT: {{.}}

// HALF:      precision: "first": f16: stored as half, computed as float
// HALF-NEXT: precision: "last": f16: stored as half, computed as float
// HALF-NEXT: precision: "total": f32: the model returns it, and what it returns keeps its type

func.func @main(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x3x3xf32>) -> tensor<1x4x1x1xf32> {
  %zero = pascaline.constant dense<0.0> : tensor<f32> loc("zero")
  %p = pascaline.pad constant %x, %zero {low = array<i64: 0, 0, 1, 1>, high = array<i64: 0, 0, 1, 1>} : tensor<1x4x8x8xf32>, tensor<f32> loc("pad")
  %a = pascaline.conv %p, %w {strides = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : tensor<1x4x10x10xf32>, tensor<4x4x3x3xf32> loc("first")
  %b = pascaline.conv %a, %w {strides = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : tensor<1x4x8x8xf32>, tensor<4x4x3x3xf32> loc("last")
  %c = pascaline.reduce sum %b {axes = array<i64: 2, 3>} : tensor<1x4x6x6xf32> loc("total")
  return %c : tensor<1x4x1x1xf32>
}
