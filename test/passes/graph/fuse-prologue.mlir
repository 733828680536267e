// RUN: pascaline-opt %s -pascaline-fuse-epilogue -pascaline-fuse-prologue | FileCheck %s

// CHECK-LABEL: @pointwise_before_a_reduction
// CHECK-SAME: (%[[X:.*]]: tensor<8x4xf32>, %[[Z:.*]]: tensor<8x4xf32>)
// CHECK-NEXT: pascaline.fused(%[[X]], %[[Z]])
// CHECK-NEXT: ^bb
// CHECK-NEXT: pascaline.sub
// CHECK-NEXT: pascaline.exp
// CHECK-NEXT: pascaline.reduce
func.func @pointwise_before_a_reduction(%x: tensor<8x4xf32>, %z: tensor<8x4xf32>) -> tensor<8x1xf32> {
  %d = pascaline.sub %x, %z : tensor<8x4xf32>, tensor<8x4xf32>
  %s = pascaline.exp %d : tensor<8x4xf32>
  %y = pascaline.reduce sum %s {axes = array<i64: 1>} : tensor<8x4xf32>
  return %y : tensor<8x1xf32>
}

// One large operand: repeating it reads no more than its result.
// CHECK-LABEL: @a_cheap_producer_is_repeated
// CHECK: pascaline.sub
// CHECK: pascaline.fused(%{{.*}}, %{{.*}})
// CHECK-NEXT: ^bb
// CHECK-NEXT: pascaline.sub
// CHECK-NEXT: pascaline.reduce
func.func @a_cheap_producer_is_repeated(%x: tensor<8x4xf32>, %m: tensor<8x1xf32>) -> (tensor<8x1xf32>, tensor<8x4xf32>) {
  %d = pascaline.sub %x, %m : tensor<8x4xf32>, tensor<8x1xf32>
  %y = pascaline.reduce max %d {axes = array<i64: 1>} : tensor<8x4xf32>
  return %y, %d : tensor<8x1xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: @a_costly_producer_with_two_readers_is_left_alone
// CHECK: %[[E:.*]] = pascaline.exp
// CHECK: pascaline.fused(%[[E]])
func.func @a_costly_producer_with_two_readers_is_left_alone(%x: tensor<8x4xf32>) -> (tensor<8x1xf32>, tensor<8x4xf32>) {
  %e = pascaline.exp %x : tensor<8x4xf32>
  %y = pascaline.reduce max %e {axes = array<i64: 1>} : tensor<8x4xf32>
  return %y, %e : tensor<8x1xf32>, tensor<8x4xf32>
}

// A matmul reads each element many times: views alone come in.
// CHECK-LABEL: @a_matmul_takes_views_alone
// CHECK: %[[R:.*]] = pascaline.relu
// CHECK: pascaline.fused(%{{.*}}, %[[R]])
// CHECK-NEXT: ^bb
// CHECK-NEXT: pascaline.transpose
// CHECK-NEXT: pascaline.matmul
func.func @a_matmul_takes_views_alone(%x: tensor<4x2x8xf32>, %w: tensor<8x3xf32>) -> tensor<2x4x3xf32> {
  %t = pascaline.transpose %x {perm = array<i64: 1, 0, 2>} : tensor<4x2x8xf32>
  %r = pascaline.relu %w : tensor<8x3xf32>
  %y = pascaline.matmul %t, %r : tensor<2x4x8xf32>, tensor<8x3xf32>
  return %y : tensor<2x4x3xf32>
}

// What an epilogue reads beside the product is read once.
// CHECK-LABEL: @the_other_operand_of_an_epilogue
// CHECK-NEXT: pascaline.fused
// CHECK: pascaline.exp
// CHECK: pascaline.matmul
// CHECK: pascaline.add
func.func @the_other_operand_of_an_epilogue(%x: tensor<4x8xf32>, %w: tensor<8x3xf32>, %z: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %e = pascaline.exp %z : tensor<4x3xf32>
  %c = pascaline.matmul %x, %w : tensor<4x8xf32>, tensor<8x3xf32>
  %y = pascaline.add %c, %e : tensor<4x3xf32>, tensor<4x3xf32>
  return %y : tensor<4x3xf32>
}

// CHECK-LABEL: @pools
// CHECK: %[[R:.*]] = pascaline.relu
// CHECK: pascaline.fused(%[[R]])
// CHECK: pascaline.fused(%{{.*}})
// CHECK-NEXT: ^bb
// CHECK-NEXT: pascaline.neg
// CHECK-NEXT: pascaline.max_pool
func.func @pools(%x: tensor<1x3x9xf32>) -> (tensor<1x3x7xf32>, tensor<1x3x3xf32>) {
  %r = pascaline.relu %x : tensor<1x3x9xf32>
  %n = pascaline.neg %x : tensor<1x3x9xf32>
  %y = pascaline.max_pool %r {window = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_begin = array<i64: 0>, pads_end = array<i64: 0>} : tensor<1x3x9xf32>
  %z = pascaline.max_pool %n {window = array<i64: 3>, strides = array<i64: 3>, dilations = array<i64: 1>, pads_begin = array<i64: 0>, pads_end = array<i64: 0>} : tensor<1x3x9xf32>
  return %y, %z : tensor<1x3x7xf32>, tensor<1x3x3xf32>
}

// Done once, at load, not in every run.
// CHECK-LABEL: @what_follows_from_constants_is_left_alone
// CHECK: %[[R:.*]] = pascaline.exp
// CHECK: pascaline.fused(%{{.*}}, %[[R]])
func.func @what_follows_from_constants_is_left_alone(%x: tensor<20x20xf32>) -> tensor<20x20xf32> {
  %c = pascaline.constant dense_resource<__elided__> : tensor<20x20xf32>
  %e = pascaline.exp %c : tensor<20x20xf32>
  %y = pascaline.concat %x, %e {axis = 0 : i64} : tensor<20x20xf32>, tensor<20x20xf32>
  %z = pascaline.slice %y {starts = array<i64: 0, 0>, steps = array<i64: 2, 1>, sizes = array<i64: 20, 20>} : tensor<40x20xf32>
  return %z : tensor<20x20xf32>
}

// CHECK-LABEL: @a_reshape_comes_in_only_before_something_that_does
// CHECK: %[[R:.*]] = pascaline.reshape
// CHECK: pascaline.fused(%[[R]])
// CHECK: pascaline.fused(%{{.*}})
// CHECK-NEXT: ^bb
// CHECK-NEXT: pascaline.exp
// CHECK-NEXT: pascaline.reshape
// CHECK-NEXT: pascaline.reduce
func.func @a_reshape_comes_in_only_before_something_that_does(%x: tensor<8x4xf32>) -> (tensor<1x4xf32>, tensor<1x4xf32>) {
  %r = pascaline.reshape %x : tensor<8x4xf32> -> tensor<8x4x1xf32>
  %y = pascaline.reduce max %r {axes = array<i64: 0>} : tensor<8x4x1xf32>
  %e = pascaline.exp %x : tensor<8x4xf32>
  %s = pascaline.reshape %e : tensor<8x4xf32> -> tensor<8x1x4xf32>
  %z = pascaline.reduce max %s {axes = array<i64: 0>} : tensor<8x1x4xf32>
  %u = pascaline.reshape %y : tensor<1x4x1xf32> -> tensor<1x4xf32>
  %v = pascaline.reshape %z : tensor<1x1x4xf32> -> tensor<1x4xf32>
  return %u, %v : tensor<1x4xf32>, tensor<1x4xf32>
}

// Halves are widened as they are staged; rounding to half is not done there.
// CHECK-LABEL: @a_matmul_widens
// CHECK-SAME: (%[[X:.*]]: tensor<8x4xf16>, %[[W:.*]]: tensor<4x2xf32>)
// CHECK-NEXT: %[[Y:.*]] = pascaline.fused(%[[X]], %[[W]])
// CHECK-NEXT: ^bb
// CHECK-NEXT: pascaline.cast %{{.*}} : tensor<8x4xf16> -> tensor<8x4xf32>
// CHECK-NEXT: pascaline.matmul
// CHECK: return %[[Y]]
func.func @a_matmul_widens(%x: tensor<8x4xf16>, %w: tensor<4x2xf32>) -> tensor<8x2xf32> {
  %h = pascaline.cast %x : tensor<8x4xf16> -> tensor<8x4xf32>
  %y = pascaline.matmul %h, %w : tensor<8x4xf32>, tensor<4x2xf32>
  return %y : tensor<8x2xf32>
}

// CHECK-LABEL: @a_matmul_does_not_round
// CHECK: %[[H:.*]] = pascaline.cast
// CHECK: pascaline.fused(%[[H]],
func.func @a_matmul_does_not_round(%x: tensor<8x4xf32>, %w: tensor<4x2xf16>) -> tensor<8x2xf16> {
  %h = pascaline.cast %x : tensor<8x4xf32> -> tensor<8x4xf16>
  %y = pascaline.matmul %h, %w : tensor<8x4xf16>, tensor<4x2xf16>
  return %y : tensor<8x2xf16>
}
