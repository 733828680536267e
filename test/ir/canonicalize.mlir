// RUN: pascaline-opt %s -canonicalize | FileCheck %s

// CHECK-LABEL: @a_transpose_of_ones_is_a_reshape
// CHECK-NEXT: pascaline.reshape %{{.*}} : tensor<1x8x1x4xf32> -> tensor<1x1x8x4xf32>
// CHECK: pascaline.transpose
func.func @a_transpose_of_ones_is_a_reshape(%x: tensor<1x8x1x4xf32>) -> (tensor<1x1x8x4xf32>, tensor<1x1x4x8xf32>) {
  %y = pascaline.transpose %x {perm = array<i64: 0, 2, 1, 3>} : tensor<1x8x1x4xf32>
  %z = pascaline.transpose %x {perm = array<i64: 0, 2, 3, 1>} : tensor<1x8x1x4xf32>
  return %y, %z : tensor<1x1x8x4xf32>, tensor<1x1x4x8xf32>
}

// CHECK-LABEL: @a_broadcast_to_more_ones_is_a_reshape
// CHECK-NEXT: pascaline.reshape
// CHECK-NEXT: pascaline.broadcast
func.func @a_broadcast_to_more_ones_is_a_reshape(%x: tensor<8xf32>) -> (tensor<1x8xf32>, tensor<2x8xf32>) {
  %y = pascaline.broadcast %x : tensor<8xf32> -> tensor<1x8xf32>
  %z = pascaline.broadcast %x : tensor<8xf32> -> tensor<2x8xf32>
  return %y, %z : tensor<1x8xf32>, tensor<2x8xf32>
}

// CHECK-LABEL: @matmul_repeats_batches_itself
// CHECK-NEXT: pascaline.matmul %{{.*}}, %{{.*}} : tensor<5x8x4xf32>, tensor<4x2xf32>
func.func @matmul_repeats_batches_itself(%a: tensor<5x8x4xf32>, %b: tensor<4x2xf32>) -> tensor<5x8x2xf32> {
  %w = pascaline.broadcast %b : tensor<4x2xf32> -> tensor<5x4x2xf32>
  %y = pascaline.matmul %a, %w : tensor<5x8x4xf32>, tensor<5x4x2xf32>
  return %y : tensor<5x8x2xf32>
}

// Without the broadcasts the result would have no batch; rows are no batch.
// CHECK-LABEL: @other_broadcasts_are_left_alone
// CHECK-COUNT-3: pascaline.broadcast
func.func @other_broadcasts_are_left_alone(%a: tensor<8x4xf32>, %b: tensor<4x2xf32>, %r: tensor<1x4xf32>) -> (tensor<5x8x2xf32>, tensor<8x2xf32>) {
  %v = pascaline.broadcast %a : tensor<8x4xf32> -> tensor<5x8x4xf32>
  %w = pascaline.broadcast %b : tensor<4x2xf32> -> tensor<5x4x2xf32>
  %rows = pascaline.broadcast %r : tensor<1x4xf32> -> tensor<8x4xf32>
  %y = pascaline.matmul %v, %w : tensor<5x8x4xf32>, tensor<5x4x2xf32>
  %z = pascaline.matmul %rows, %b : tensor<8x4xf32>, tensor<4x2xf32>
  return %y, %z : tensor<5x8x2xf32>, tensor<8x2xf32>
}

// CHECK-LABEL: @evenly_spaced_indices_are_a_slice
// CHECK: %[[A:.*]] = pascaline.slice %{{.*}} {sizes = array<i64: 3, 1, 2>, starts = array<i64: 0, 4, 0>, steps = array<i64: 1, 1, 1>}
// CHECK: pascaline.reshape %[[A]] : tensor<3x1x2xf32> -> tensor<3x2xf32>
// CHECK: pascaline.slice %{{.*}} {sizes = array<i64: 3, 2, 2>, starts = array<i64: 0, 3, 0>, steps = array<i64: 1, -2, 1>}
// CHECK: pascaline.gather
func.func @evenly_spaced_indices_are_a_slice(%x: tensor<3x5x2xf32>) -> (tensor<3x2xf32>, tensor<3x2x2xf32>, tensor<3x3x2xf32>) {
  %last = pascaline.constant dense<-1> : tensor<i64>
  %back = pascaline.constant dense<[3, 1]> : tensor<2xi64>
  %some = pascaline.constant dense<[0, 1, 3]> : tensor<3xi64>
  %a = pascaline.gather %x, %last {axis = 1 : i64} : tensor<3x5x2xf32>, tensor<i64>
  %b = pascaline.gather %x, %back {axis = 1 : i64} : tensor<3x5x2xf32>, tensor<2xi64>
  %c = pascaline.gather %x, %some {axis = 1 : i64} : tensor<3x5x2xf32>, tensor<3xi64>
  return %a, %b, %c : tensor<3x2xf32>, tensor<3x2x2xf32>, tensor<3x3x2xf32>
}

// CHECK-LABEL: @over_nothing
// CHECK-DAG: pascaline.constant dense<0.000000e+00> : tensor<2x3xf32>
// CHECK-DAG: pascaline.constant dense<0.000000e+00> : tensor<1x4x2xf32>
// CHECK-DAG: pascaline.constant dense<1> : tensor<1x2xi32>
// CHECK-DAG: pascaline.constant dense<0xFF800000> : tensor<2x1xf32>
// CHECK-NOT: pascaline.{{matmul|conv|reduce}}
func.func @over_nothing(%a: tensor<2x0xf32>, %b: tensor<0x3xf32>, %x: tensor<1x0x2xf32>, %w: tensor<4x0x1xf32>, %i: tensor<0x2xi32>) -> (tensor<2x3xf32>, tensor<1x4x2xf32>, tensor<1x2xi32>, tensor<2x1xf32>) {
  %m = pascaline.matmul %a, %b : tensor<2x0xf32>, tensor<0x3xf32>
  %c = pascaline.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_begin = array<i64: 0>, pads_end = array<i64: 0>, groups = 1 : i64} : tensor<1x0x2xf32>, tensor<4x0x1xf32>
  %p = pascaline.reduce prod %i {axes = array<i64: 0>} : tensor<0x2xi32>
  %l = pascaline.reduce max %a {axes = array<i64: 1>} : tensor<2x0xf32>
  return %m, %c, %p, %l : tensor<2x3xf32>, tensor<1x4x2xf32>, tensor<1x2xi32>, tensor<2x1xf32>
}

// There and back is no way at all.
// CHECK-LABEL: @relayouts_cancel
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>)
// CHECK-NEXT: return %[[X]]
func.func @relayouts_cancel(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %a = pascaline.relayout %x : tensor<2x3xf32> -> tensor<2x3xf32, #pascaline.layout<order = [1, 0]>>
  %b = pascaline.relayout %a : tensor<2x3xf32, #pascaline.layout<order = [1, 0]>> -> tensor<2x3xf32>
  return %b : tensor<2x3xf32>
}
