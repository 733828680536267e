// RUN: pascaline-opt %s -pascaline-absorb-transposes -cse | FileCheck %s

// conv, transpose, bias and activation, transpose: as converted models have it.
// CHECK-LABEL: @channels_last_between_convolutions
// CHECK-NOT: pascaline.transpose
// CHECK: pascaline.constant dense<{{\[\[\[\[}}1.000000e+00]], {{\[\[}}2.000000e+00]]]]> : tensor<1x2x1x1xf32>
// CHECK: pascaline.add %{{.*}}, %{{.*}} : tensor<1x2x8x8xf32>, tensor<1x2x1x1xf32>
// CHECK: pascaline.relu %{{.*}} : tensor<1x2x8x8xf32>
// CHECK-NOT: pascaline.transpose
func.func @channels_last_between_convolutions(%x: tensor<1x2x8x8xf32>, %w: tensor<2x2x1x1xf32>) -> tensor<1x2x8x8xf32> {
  %b = pascaline.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %c = pascaline.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, groups = 1 : i64} : tensor<1x2x8x8xf32>, tensor<2x2x1x1xf32>
  %t = pascaline.transpose %c {perm = array<i64: 0, 2, 3, 1>} : tensor<1x2x8x8xf32>
  %a = pascaline.add %t, %b : tensor<1x8x8x2xf32>, tensor<2xf32>
  %r = pascaline.relu %a : tensor<1x8x8x2xf32>
  %u = pascaline.transpose %r {perm = array<i64: 0, 3, 1, 2>} : tensor<1x8x8x2xf32>
  %d = pascaline.conv %u, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, groups = 1 : i64} : tensor<1x2x8x8xf32>, tensor<2x2x1x1xf32>
  return %d : tensor<1x2x8x8xf32>
}

// CHECK-LABEL: @axes_move_along
// CHECK-NOT: pascaline.transpose
// CHECK: pascaline.concat %{{.*}} {axis = 1 : i64} : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>
// CHECK: pascaline.pad constant %{{.*}} {high = array<i64: 0, 0, 0, 5>, low = array<i64: 0, 0, 0, 0>}
// CHECK: pascaline.slice %{{.*}} {sizes = array<i64: 1, 4, 2, 9>, starts = array<i64: 0, 0, 1, 0>
// CHECK: pascaline.softmax %{{.*}} {axis = 3 : i64}
// CHECK: pascaline.reduce sum %{{.*}} {axes = array<i64: 1, 2>}
func.func @axes_move_along(%x: tensor<1x2x3x4xf32>, %y: tensor<1x2x3x4xf32>) -> tensor<1x1x1x9xf32> {
  %zero = pascaline.constant dense<0.0> : tensor<f32>
  %s = pascaline.transpose %x {perm = array<i64: 0, 2, 3, 1>} : tensor<1x2x3x4xf32>
  %t = pascaline.transpose %y {perm = array<i64: 0, 2, 3, 1>} : tensor<1x2x3x4xf32>
  %c = pascaline.concat %s, %t {axis = 3 : i64} : tensor<1x3x4x2xf32>, tensor<1x3x4x2xf32>
  %p = pascaline.pad constant %c, %zero {low = array<i64: 0, 0, 0, 0>, high = array<i64: 0, 0, 5, 0>} : tensor<1x3x4x4xf32>, tensor<f32>
  %l = pascaline.slice %p {starts = array<i64: 0, 1, 0, 0>, steps = array<i64: 1, 1, 1, 1>, sizes = array<i64: 1, 2, 9, 4>} : tensor<1x3x9x4xf32>
  %f = pascaline.softmax %l {axis = 2 : i64} : tensor<1x2x9x4xf32>
  %r = pascaline.reduce sum %f {axes = array<i64: 1, 3>} : tensor<1x2x9x4xf32>
  %u = pascaline.transpose %r {perm = array<i64: 0, 3, 1, 2>} : tensor<1x1x9x1xf32>
  return %u : tensor<1x1x1x9xf32>
}

// hard-swish: the bias's result has two readers, both of which move.
// CHECK-LABEL: @a_diamond_moves_as_a_whole
// CHECK-NOT: pascaline.transpose
func.func @a_diamond_moves_as_a_whole(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %three = pascaline.constant dense<3.0> : tensor<f32>
  %t = pascaline.transpose %x {perm = array<i64: 1, 0>} : tensor<2x3xf32>
  %b = pascaline.neg %t : tensor<3x2xf32>
  %a = pascaline.add %b, %three : tensor<3x2xf32>, tensor<f32>
  %r = pascaline.relu %a : tensor<3x2xf32>
  %m = pascaline.mul %b, %r : tensor<3x2xf32>, tensor<3x2xf32>
  %u = pascaline.transpose %m {perm = array<i64: 1, 0>} : tensor<3x2xf32>
  return %u : tensor<2x3xf32>
}

// One transpose is left, of what came untransposed.
// CHECK-LABEL: @a_path_without_inverse_gets_one
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>, %[[Z:.*]]: tensor<3x2xf32>)
// CHECK: %[[T:.*]] = pascaline.transpose %[[Z]] {perm = array<i64: 1, 0>}
// CHECK: pascaline.add %[[X]], %[[T]] : tensor<2x3xf32>
// CHECK-NOT: pascaline.transpose
func.func @a_path_without_inverse_gets_one(%x: tensor<2x3xf32>, %z: tensor<3x2xf32>) -> tensor<2x3xf32> {
  %t = pascaline.transpose %x {perm = array<i64: 1, 0>} : tensor<2x3xf32>
  %a = pascaline.add %t, %z : tensor<3x2xf32>, tensor<3x2xf32>
  %u = pascaline.transpose %a {perm = array<i64: 1, 0>} : tensor<3x2xf32>
  return %u : tensor<2x3xf32>
}

// Two paths without: the transposes would only multiply.
// CHECK-LABEL: @two_paths_without_inverse_are_left_alone
// CHECK: pascaline.transpose
// CHECK: pascaline.add
// CHECK: pascaline.add
// CHECK-NEXT: return
func.func @two_paths_without_inverse_are_left_alone(%x: tensor<2x3xf32>, %z: tensor<3x2xf32>, %w: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %t = pascaline.transpose %x {perm = array<i64: 1, 0>} : tensor<2x3xf32>
  %a = pascaline.add %t, %z : tensor<3x2xf32>, tensor<3x2xf32>
  %b = pascaline.add %a, %w : tensor<3x2xf32>, tensor<3x2xf32>
  return %b : tensor<3x2xf32>
}

// CHECK-LABEL: @a_value_needed_both_ways_is_transposed_once
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>)
// CHECK: %[[R:.*]] = pascaline.relu %[[X]]
// CHECK: %[[T:.*]] = pascaline.transpose %[[R]]
// CHECK: return %[[R]], %[[T]]
func.func @a_value_needed_both_ways_is_transposed_once(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3x2xf32>) {
  %t = pascaline.transpose %x {perm = array<i64: 1, 0>} : tensor<2x3xf32>
  %a = pascaline.relu %t : tensor<3x2xf32>
  %u = pascaline.transpose %a {perm = array<i64: 1, 0>} : tensor<3x2xf32>
  return %u, %a : tensor<2x3xf32>, tensor<3x2xf32>
}

// The other way round: what is between channels-last input and output stays
// channels last.
// CHECK-LABEL: @channels_first_between_channels_last
// CHECK-NOT: pascaline.transpose
// CHECK: pascaline.gather %{{.*}} {axis = 3 : i64} : tensor<1x4x5x2xf32>, tensor<3xi64>
// CHECK-NOT: pascaline.transpose
func.func @channels_first_between_channels_last(%x: tensor<1x4x5x2xf32>) -> tensor<1x4x5x3xf32> {
  %i = pascaline.constant dense<[1, 0, 0]> : tensor<3xi64>
  %t = pascaline.transpose %x {perm = array<i64: 0, 3, 1, 2>} : tensor<1x4x5x2xf32>
  %g = pascaline.gather %t, %i {axis = 1 : i64} : tensor<1x2x4x5xf32>, tensor<3xi64>
  %r = pascaline.relu %g : tensor<1x3x4x5xf32>
  %u = pascaline.transpose %r {perm = array<i64: 0, 2, 3, 1>} : tensor<1x3x4x5xf32>
  return %u : tensor<1x4x5x3xf32>
}

// Beside the conv, which stores in any order, it costs least.
// CHECK-LABEL: @transposes_go_to_anchors
// CHECK: pascaline.conv
// CHECK-NEXT: pascaline.transpose
// CHECK-NEXT: pascaline.relu %{{.*}} : tensor<1x8x8x2xf32>
// CHECK-NEXT: pascaline.reshape
func.func @transposes_go_to_anchors(%x: tensor<1x2x8x8xf32>, %w: tensor<2x2x1x1xf32>) -> tensor<1x128xf32> {
  %c = pascaline.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, groups = 1 : i64} : tensor<1x2x8x8xf32>, tensor<2x2x1x1xf32>
  %r = pascaline.relu %c : tensor<1x2x8x8xf32>
  %t = pascaline.transpose %r {perm = array<i64: 0, 2, 3, 1>} : tensor<1x2x8x8xf32>
  %y = pascaline.reshape %t : tensor<1x8x8x2xf32> -> tensor<1x128xf32>
  return %y : tensor<1x128xf32>
}

// CHECK-LABEL: @a_swapped_matrix_is_a_flag
// CHECK: pascaline.matmul %{{.*}}, %{{.*}} {transpose_a} : tensor<5x4x2xf32>, tensor<4x3xf32>
func.func @a_swapped_matrix_is_a_flag(%a: tensor<5x4x2xf32>, %b: tensor<4x3xf32>) -> tensor<5x2x3xf32> {
  %s = pascaline.transpose %a {perm = array<i64: 0, 2, 1>} : tensor<5x4x2xf32>
  %t = pascaline.transpose %b {perm = array<i64: 1, 0>} : tensor<4x3xf32>
  %y = pascaline.matmul %s, %t {transpose_b} : tensor<5x2x4xf32>, tensor<3x4xf32>
  return %y : tensor<5x2x3xf32>
}

// Heads of attention: batch and rows are swapped, which is no flag.
// CHECK-LABEL: @other_transposes_of_matrices_stay
// CHECK: pascaline.transpose
// CHECK: pascaline.matmul %{{.*}}, %{{.*}} : tensor<2x5x4xf32>, tensor<4x3xf32>
func.func @other_transposes_of_matrices_stay(%a: tensor<5x2x4xf32>, %b: tensor<4x3xf32>) -> tensor<2x5x3xf32> {
  %s = pascaline.transpose %a {perm = array<i64: 1, 0, 2>} : tensor<5x2x4xf32>
  %y = pascaline.matmul %s, %b : tensor<2x5x4xf32>, tensor<4x3xf32>
  return %y : tensor<2x5x3xf32>
}

// CHECK-LABEL: @constants_are_transposed
// CHECK{LITERAL}: dense<[[1, 4], [2, 5], [3, 6]]>
// CHECK-NEXT: return
func.func @constants_are_transposed() -> tensor<3x2xi32> {
  %x = pascaline.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %t = pascaline.transpose %x {perm = array<i64: 1, 0>} : tensor<2x3xi32>
  return %t : tensor<3x2xi32>
}
