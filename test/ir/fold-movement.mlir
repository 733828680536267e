// RUN: pascaline-opt %s -canonicalize | FileCheck %s

// What an exporter writes for x.view(x.size(0), -1).
// CHECK-LABEL: @a_shape_chain_leaves_nothing_behind
// CHECK: pascaline.constant dense<[2, 60]> : tensor<2xi64>
// CHECK-NEXT: return
func.func @a_shape_chain_leaves_nothing_behind() -> tensor<2xi64> {
  %shape = pascaline.constant dense<[2, 3, 4, 5]> : tensor<4xi64>
  %i = pascaline.constant dense<0> : tensor<i64>
  %n = pascaline.gather %shape, %i {axis = 0 : i64} : tensor<4xi64>, tensor<i64>
  %n1 = pascaline.reshape %n : tensor<i64> -> tensor<1xi64>
  %rest = pascaline.slice %shape {starts = array<i64: 1>, steps = array<i64: 1>, sizes = array<i64: 3>} : tensor<4xi64>
  %p = pascaline.reduce prod %rest {axes = array<i64: 0>} : tensor<3xi64>
  %y = pascaline.concat %n1, %p {axis = 0 : i64} : tensor<1xi64>, tensor<1xi64>
  return %y : tensor<2xi64>
}

// CHECK-LABEL: @constants_move
// CHECK{LITERAL}: pascaline.constant dense<[[1, 4], [2, 5], [3, 6]]>
// CHECK{LITERAL}: pascaline.constant dense<[3, 2, 1, 6, 5, 4]>
// CHECK{LITERAL}: pascaline.constant dense<[[[1, 2, 3], [4, 5, 6]], [[1, 2, 3], [4, 5, 6]]]>
// CHECK{LITERAL}: pascaline.constant dense<[[1, 2, 3, 3, 2, 1], [4, 5, 6, 6, 5, 4]]>
// CHECK{LITERAL}: pascaline.constant dense<[[3, 1], [6, 4]]>
func.func @constants_move() -> (tensor<3x2xi32>, tensor<6xi32>, tensor<2x2x3xi32>, tensor<2x6xi32>, tensor<2x2xi32>) {
  %x = pascaline.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %i = pascaline.constant dense<[-1, 0]> : tensor<2xi64>
  %t = pascaline.transpose %x {perm = array<i64: 1, 0>} : tensor<2x3xi32>
  %s = pascaline.slice %x {starts = array<i64: 0, 2>, steps = array<i64: 1, -1>, sizes = array<i64: 2, 3>} : tensor<2x3xi32>
  %r = pascaline.reshape %s : tensor<2x3xi32> -> tensor<6xi32>
  %b = pascaline.broadcast %x : tensor<2x3xi32> -> tensor<2x2x3xi32>
  %c = pascaline.concat %x, %s {axis = 1 : i64} : tensor<2x3xi32>, tensor<2x3xi32>
  %g = pascaline.gather %x, %i {axis = 1 : i64} : tensor<2x3xi32>, tensor<2xi64>
  return %t, %r, %b, %c, %g : tensor<3x2xi32>, tensor<6xi32>, tensor<2x2x3xi32>, tensor<2x6xi32>, tensor<2x2xi32>
}

// CHECK-LABEL: @constants_are_padded
// CHECK: pascaline.constant dense<[9, 9, 1, 2, 3, 9]>
// CHECK: pascaline.constant dense<[1, 1, 1, 2, 3, 3]>
// CHECK: pascaline.constant dense<[3, 2, 1, 2, 3, 2]>
// CHECK: pascaline.constant dense<[2, 3, 1, 2, 3, 1]>
func.func @constants_are_padded() -> (tensor<6xi32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>) {
  %x = pascaline.constant dense<[1, 2, 3]> : tensor<3xi32>
  %f = pascaline.constant dense<9> : tensor<i32>
  %a = pascaline.pad constant %x, %f {low = array<i64: 2>, high = array<i64: 1>} : tensor<3xi32>, tensor<i32>
  %b = pascaline.pad edge %x, %f {low = array<i64: 2>, high = array<i64: 1>} : tensor<3xi32>, tensor<i32>
  %c = pascaline.pad reflect %x, %f {low = array<i64: 2>, high = array<i64: 1>} : tensor<3xi32>, tensor<i32>
  %d = pascaline.pad wrap %x, %f {low = array<i64: 2>, high = array<i64: 1>} : tensor<3xi32>, tensor<i32>
  return %a, %b, %c, %d : tensor<6xi32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>
}

// CHECK-LABEL: @padding_longer_than_the_tensor_repeats
// CHECK: pascaline.constant dense<[2, 1, 2, 1, 2, 1, 2]>
// CHECK: pascaline.constant dense<[1, 2, 1, 2, 1, 2, 1]>
// CHECK: pascaline.constant dense<5> : tensor<7xi32>
func.func @padding_longer_than_the_tensor_repeats() -> (tensor<7xi32>, tensor<7xi32>, tensor<7xi32>) {
  %x = pascaline.constant dense<[1, 2]> : tensor<2xi32>
  %o = pascaline.constant dense<[5]> : tensor<1xi32>
  %f = pascaline.constant dense<9> : tensor<i32>
  %a = pascaline.pad reflect %x, %f {low = array<i64: 3>, high = array<i64: 2>} : tensor<2xi32>, tensor<i32>
  %b = pascaline.pad wrap %x, %f {low = array<i64: 2>, high = array<i64: 3>} : tensor<2xi32>, tensor<i32>
  %c = pascaline.pad reflect %o, %f {low = array<i64: 3>, high = array<i64: 3>} : tensor<1xi32>, tensor<i32>
  return %a, %b, %c : tensor<7xi32>, tensor<7xi32>, tensor<7xi32>
}

// CHECK-LABEL: @what_moves_nothing_goes
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>)
// CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]]
func.func @what_moves_nothing_goes(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %t = pascaline.transpose %x {perm = array<i64: 1, 0>} : tensor<2x3xf32>
  %a = pascaline.transpose %t {perm = array<i64: 1, 0>} : tensor<3x2xf32>
  %r = pascaline.reshape %x : tensor<2x3xf32> -> tensor<6xf32>
  %b = pascaline.reshape %r : tensor<6xf32> -> tensor<2x3xf32>
  %c = pascaline.broadcast %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %d = pascaline.slice %x {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>, sizes = array<i64: 2, 3>} : tensor<2x3xf32>
  %e = pascaline.concat %x {axis = 0 : i64} : tensor<2x3xf32>
  %zero = pascaline.constant dense<0.0> : tensor<f32>
  %f = pascaline.pad constant %x, %zero {low = array<i64: 0, 0>, high = array<i64: 0, 0>} : tensor<2x3xf32>, tensor<f32>
  %g = pascaline.reduce sum %f {axes = array<i64>} : tensor<2x3xf32>
  return %a, %b, %c, %d, %e, %f, %g : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: @two_transposes_are_one
// CHECK: pascaline.transpose %{{.*}} {perm = array<i64: 2, 0, 1>}
// CHECK-NOT: pascaline.transpose
func.func @two_transposes_are_one(%x: tensor<2x3x4xf32>) -> tensor<4x2x3xf32> {
  %a = pascaline.transpose %x {perm = array<i64: 1, 2, 0>} : tensor<2x3x4xf32>
  %b = pascaline.transpose %a {perm = array<i64: 1, 2, 0>} : tensor<3x4x2xf32>
  return %b : tensor<4x2x3xf32>
}

// A resource serves any shape, elided or not; other movement needs its bytes.
// CHECK-LABEL: @resources
// CHECK: pascaline.constant dense_resource<__elided__> : tensor<400xf32>
// CHECK: pascaline.transpose
func.func @resources() -> (tensor<400xf32>, tensor<20x20xf32>) {
  %x = pascaline.constant dense_resource<__elided__> : tensor<20x20xf32>
  %a = pascaline.reshape %x : tensor<20x20xf32> -> tensor<400xf32>
  %b = pascaline.transpose %x {perm = array<i64: 1, 0>} : tensor<20x20xf32>
  return %a, %b : tensor<400xf32>, tensor<20x20xf32>
}

// CHECK-LABEL: @float_sums_are_left_to_kernels
// CHECK: pascaline.reduce sum
func.func @float_sums_are_left_to_kernels() -> tensor<1xf32> {
  %x = pascaline.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %y = pascaline.reduce sum %x {axes = array<i64: 0>} : tensor<2xf32>
  return %y : tensor<1xf32>
}
