// RUN: pascaline-opt %s -pascaline-fuse-epilogue | FileCheck %s

// CHECK-LABEL: @bias_residual_and_activation_join
// CHECK-SAME: (%[[A:.*]]: tensor<8x4xf32>, %[[B:.*]]: tensor<4x2xf32>, %[[R:.*]]: tensor<8x2xf32>)
// CHECK: %[[C:.*]] = pascaline.constant dense<[1.000000e+00, 2.000000e+00]>
// CHECK: %[[Y:.*]] = pascaline.fused(%[[A]], %[[B]], %[[C]], %[[R]])
// CHECK: pascaline.matmul
// CHECK: pascaline.add
// CHECK: pascaline.add
// CHECK: pascaline.relu
// CHECK: pascaline.yield
// CHECK: return %[[Y]]
func.func @bias_residual_and_activation_join(%a: tensor<8x4xf32>, %b: tensor<4x2xf32>, %r: tensor<8x2xf32>) -> tensor<8x2xf32> {
  %bias = pascaline.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %c = pascaline.matmul %a, %b : tensor<8x4xf32>, tensor<4x2xf32>
  %d = pascaline.add %c, %bias : tensor<8x2xf32>, tensor<2xf32>
  %e = pascaline.add %d, %r : tensor<8x2xf32>, tensor<8x2xf32>
  %y = pascaline.relu %e : tensor<8x2xf32>
  return %y : tensor<8x2xf32>
}

// A splat is a literal of the code; the anchor's own operand stays a buffer.
// CHECK-LABEL: @hard_swish_comes_together
// CHECK: %[[B:.*]] = pascaline.constant dense<1.000000e+00> : tensor<4x2xf32>
// CHECK: pascaline.fused(%{{.*}}, %[[B]]) : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
// CHECK: pascaline.matmul
// CHECK: pascaline.constant dense<3.000000e+00>
// CHECK: pascaline.add
// CHECK: pascaline.constant dense<6.000000e+00>
// CHECK: pascaline.min
// CHECK: pascaline.mul
// CHECK: pascaline.yield
func.func @hard_swish_comes_together(%a: tensor<8x4xf32>) -> tensor<8x2xf32> {
  %b = pascaline.constant dense<1.0> : tensor<4x2xf32>
  %three = pascaline.constant dense<3.0> : tensor<f32>
  %six = pascaline.constant dense<6.0> : tensor<8x2xf32>
  %c = pascaline.matmul %a, %b : tensor<8x4xf32>, tensor<4x2xf32>
  %d = pascaline.add %c, %three : tensor<8x2xf32>, tensor<f32>
  %e = pascaline.min %d, %six : tensor<8x2xf32>, tensor<8x2xf32>
  %y = pascaline.mul %c, %e : tensor<8x2xf32>, tensor<8x2xf32>
  return %y : tensor<8x2xf32>
}

// CHECK-LABEL: @of_two_anchors_the_later_takes_the_add
// CHECK: %[[P:.*]] = pascaline.fused(%{{.*}}, %{{.*}})
// CHECK-NEXT: ^bb
// CHECK-NEXT: pascaline.matmul
// CHECK-NEXT: pascaline.yield
// CHECK: pascaline.fused(%{{.*}}, %{{.*}}, %[[P]])
// CHECK-NEXT: ^bb
// CHECK-NEXT: pascaline.matmul
// CHECK-NEXT: pascaline.add
// CHECK-NEXT: pascaline.yield
func.func @of_two_anchors_the_later_takes_the_add(%a: tensor<8x4xf32>, %b: tensor<4x2xf32>) -> tensor<8x2xf32> {
  %c = pascaline.matmul %a, %b : tensor<8x4xf32>, tensor<4x2xf32>
  %ra = pascaline.matmul %a, %b : tensor<8x4xf32>, tensor<4x2xf32>
  %y = pascaline.add %c, %ra : tensor<8x2xf32>, tensor<8x2xf32>
  return %y : tensor<8x2xf32>
}

// The mean depends on the product through another kernel.
// CHECK-LABEL: @what_comes_back_through_another_op_is_left_alone
// CHECK: pascaline.fused
// CHECK: pascaline.matmul
// CHECK-NEXT: pascaline.yield
// CHECK: pascaline.fused
// CHECK: pascaline.reduce
// CHECK: }
// CHECK: pascaline.sub
func.func @what_comes_back_through_another_op_is_left_alone(%a: tensor<8x4xf32>, %b: tensor<4x2xf32>) -> tensor<8x2xf32> {
  %c = pascaline.matmul %a, %b : tensor<8x4xf32>, tensor<4x2xf32>
  %m = pascaline.reduce max %c {axes = array<i64: 1>} : tensor<8x2xf32>
  %y = pascaline.sub %c, %m : tensor<8x2xf32>, tensor<8x1xf32>
  return %y : tensor<8x2xf32>
}

// Two results save the read of the first; a third stays outside.
// CHECK-LABEL: @at_most_two_results
// CHECK: %[[G:.*]]:2 = pascaline.fused
// CHECK: pascaline.matmul
// CHECK-NEXT: pascaline.relu
// CHECK-NEXT: pascaline.yield
// CHECK: pascaline.exp %[[G]]#0
// CHECK: return %[[G]]#0, %[[G]]#1
func.func @at_most_two_results(%a: tensor<8x4xf32>, %b: tensor<4x2xf32>) -> (tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>) {
  %c = pascaline.matmul %a, %b : tensor<8x4xf32>, tensor<4x2xf32>
  %r = pascaline.relu %c : tensor<8x2xf32>
  %e = pascaline.exp %c : tensor<8x2xf32>
  return %c, %r, %e : tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>
}

// CHECK-LABEL: @a_wider_result_is_left_alone
// CHECK: }
// CHECK: pascaline.add
func.func @a_wider_result_is_left_alone(%a: tensor<8x4xf32>, %b: tensor<4x2xf32>, %r: tensor<3x8x2xf32>) -> tensor<3x8x2xf32> {
  %c = pascaline.matmul %a, %b : tensor<8x4xf32>, tensor<4x2xf32>
  %y = pascaline.add %c, %r : tensor<8x2xf32>, tensor<3x8x2xf32>
  return %y : tensor<3x8x2xf32>
}

// Attention's heads: stored transposed. The last reshape is an alias outside.
// CHECK-LABEL: @views_are_stored_through
// CHECK: pascaline.matmul
// CHECK-NEXT: pascaline.reshape
// CHECK-NEXT: pascaline.transpose
// CHECK-NEXT: pascaline.yield
// CHECK: }
// CHECK: pascaline.reshape
func.func @views_are_stored_through(%a: tensor<8x4xf32>, %b: tensor<4x6xf32>) -> tensor<24x2xf32> {
  %c = pascaline.matmul %a, %b : tensor<8x4xf32>, tensor<4x6xf32>
  %r = pascaline.reshape %c : tensor<8x6xf32> -> tensor<8x3x2xf32>
  %t = pascaline.transpose %r {perm = array<i64: 1, 0, 2>} : tensor<8x3x2xf32>
  %y = pascaline.reshape %t : tensor<3x8x2xf32> -> tensor<24x2xf32>
  return %y : tensor<24x2xf32>
}

// An element meets another one of the same product: not in one register.
// CHECK-LABEL: @a_product_added_to_its_transpose_is_left_alone
// CHECK: }
// CHECK: pascaline.add
func.func @a_product_added_to_its_transpose_is_left_alone(%a: tensor<8x4xf32>, %b: tensor<4x8xf32>) -> tensor<8x8xf32> {
  %c = pascaline.matmul %a, %b : tensor<8x4xf32>, tensor<4x8xf32>
  %t = pascaline.transpose %c {perm = array<i64: 1, 0>} : tensor<8x8xf32>
  %y = pascaline.add %c, %t : tensor<8x8xf32>, tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// %e reads the group's first result and stands before its last member.
// CHECK-LABEL: @readers_of_an_early_result_move_behind
// CHECK: %[[G:.*]]:2 = pascaline.fused
// CHECK: pascaline.matmul
// CHECK: pascaline.mul
// CHECK: pascaline.softmax
// CHECK: return
func.func @readers_of_an_early_result_move_behind(%a: tensor<8x4xf32>, %b: tensor<4x2xf32>, %z: tensor<8x2xf32>) -> (tensor<8x2xf32>, tensor<8x2xf32>) {
  %c = pascaline.matmul %a, %b : tensor<8x4xf32>, tensor<4x2xf32>
  %e = pascaline.softmax %c {axis = 1 : i64} : tensor<8x2xf32>
  %y = pascaline.mul %c, %z : tensor<8x2xf32>, tensor<8x2xf32>
  return %e, %y : tensor<8x2xf32>, tensor<8x2xf32>
}

// The product of constants is computed once, at load; the sum in every run.
// CHECK-LABEL: @work_of_the_load_stays_there
// CHECK: pascaline.matmul
// CHECK-NEXT: pascaline.yield
// CHECK: }
// CHECK: pascaline.add
func.func @work_of_the_load_stays_there(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %c = pascaline.constant dense<1.0> : tensor<8x8xf32>
  %p = pascaline.matmul %c, %c : tensor<8x8xf32>, tensor<8x8xf32>
  %y = pascaline.add %p, %x : tensor<8x8xf32>, tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// Weights of one element are weights still: the kernel packs them.
// CHECK-LABEL: @an_anchors_operand_is_memory
// CHECK: %[[W:.*]] = pascaline.constant dense<3.000000e+00> : tensor<1x1xf32>
// CHECK: pascaline.fused(%{{.*}}, %[[W]])
func.func @an_anchors_operand_is_memory(%x: tensor<8x1xf32>) -> tensor<8x1xf32> {
  %w = pascaline.constant dense<3.0> : tensor<1x1xf32>
  %y = pascaline.matmul %x, %w : tensor<8x1xf32>, tensor<1x1xf32>
  return %y : tensor<8x1xf32>
}
