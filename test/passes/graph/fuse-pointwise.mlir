// RUN: pascaline-opt %s -pascaline-fuse-pointwise | FileCheck %s

// CHECK-LABEL: @a_chain_and_what_scales_it
// CHECK-SAME: (%[[X:.*]]: tensor<8x4xf32>, %[[M:.*]]: tensor<8x1xf32>, %[[V:.*]]: tensor<4xf32>)
// CHECK: %[[Y:.*]] = pascaline.fused(%[[X]], %[[M]], %[[V]])
// CHECK: pascaline.sub
// CHECK: pascaline.constant
// CHECK: pascaline.add
// CHECK: pascaline.sqrt
// CHECK: pascaline.div
// CHECK: pascaline.yield
// CHECK: return %[[Y]]
func.func @a_chain_and_what_scales_it(%x: tensor<8x4xf32>, %m: tensor<8x1xf32>, %v: tensor<4xf32>) -> tensor<8x4xf32> {
  %eps = pascaline.constant dense<1.0e-5> : tensor<f32>
  %d = pascaline.sub %x, %m : tensor<8x4xf32>, tensor<8x1xf32>
  %s = pascaline.add %v, %eps : tensor<4xf32>, tensor<f32>
  %r = pascaline.sqrt %s : tensor<4xf32>
  %y = pascaline.div %d, %r : tensor<8x4xf32>, tensor<4xf32>
  return %y : tensor<8x4xf32>
}

// CHECK-LABEL: @a_shared_value_is_a_second_result
// CHECK: %[[G:.*]]:2 = pascaline.fused
// CHECK: return %[[G]]#1, %[[G]]#0
func.func @a_shared_value_is_a_second_result(%x: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %e = pascaline.exp %x : tensor<8x4xf32>
  %y = pascaline.neg %e : tensor<8x4xf32>
  return %e, %y : tensor<8x4xf32>, tensor<8x4xf32>
}

// %e is read by a softmax that the group reads: it cannot be its result.
// CHECK-LABEL: @no_path_leads_back_into_a_group
// CHECK: %[[E:.*]] = pascaline.fused
// CHECK: pascaline.exp
// CHECK: %[[S:.*]] = pascaline.fused(%[[E]])
// CHECK: pascaline.softmax
// CHECK: pascaline.fused(%[[S]], %[[E]])
func.func @no_path_leads_back_into_a_group(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %e = pascaline.exp %x : tensor<8x4xf32>
  %s = pascaline.softmax %e {axis = 1 : i64} : tensor<8x4xf32>
  %y = pascaline.mul %s, %e : tensor<8x4xf32>, tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// CHECK-LABEL: @roots_of_their_own_are_groups_of_their_own
// CHECK-COUNT-2: pascaline.fused
func.func @roots_of_their_own_are_groups_of_their_own(%x: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %e = pascaline.exp %x : tensor<8x4xf32>
  %y = pascaline.log %x : tensor<8x4xf32>
  return %e, %y : tensor<8x4xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: @a_view_alone_is_a_copy
// CHECK: pascaline.fused
// CHECK-NEXT: ^bb
// CHECK-NEXT: pascaline.transpose
// CHECK-NEXT: pascaline.yield
func.func @a_view_alone_is_a_copy(%x: tensor<8x4xf32>) -> tensor<4x8xf32> {
  %t = pascaline.transpose %x {perm = array<i64: 1, 0>} : tensor<8x4xf32>
  return %t : tensor<4x8xf32>
}

// CHECK-LABEL: @reshapes_are_aliases
// CHECK-NOT: pascaline.fused
// CHECK: pascaline.reshape
// CHECK-NEXT: return
func.func @reshapes_are_aliases(%x: tensor<8x4xf32>) -> tensor<4x8xf32> {
  %t = pascaline.reshape %x : tensor<8x4xf32> -> tensor<4x8xf32>
  return %t : tensor<4x8xf32>
}

// Inside it joins what it separates; at the edge it stays an alias.
// CHECK-LABEL: @a_reshape_between
// CHECK: %[[R:.*]] = pascaline.reshape
// CHECK: pascaline.fused(%[[R]])
// CHECK: pascaline.exp
// CHECK-NEXT: pascaline.reshape
// CHECK-NEXT: pascaline.transpose
func.func @a_reshape_between(%x: tensor<32xf32>) -> tensor<2x16xf32> {
  %r = pascaline.reshape %x : tensor<32xf32> -> tensor<4x8xf32>
  %e = pascaline.exp %r : tensor<4x8xf32>
  %s = pascaline.reshape %e : tensor<4x8xf32> -> tensor<16x2xf32>
  %t = pascaline.transpose %s {perm = array<i64: 1, 0>} : tensor<16x2xf32>
  return %t : tensor<2x16xf32>
}

// CHECK-LABEL: @constants_have_groups_of_their_own
// CHECK: %[[E:.*]] = pascaline.fused(%{{.*}})
// CHECK: pascaline.exp
// CHECK: pascaline.fused(%{{.*}}, %[[E]])
// CHECK-NEXT: ^bb
// CHECK-NEXT: pascaline.mul
func.func @constants_have_groups_of_their_own(%x: tensor<20x20xf32>) -> tensor<20x20xf32> {
  %c = pascaline.constant dense_resource<__elided__> : tensor<20x20xf32>
  %e = pascaline.exp %c : tensor<20x20xf32>
  %y = pascaline.mul %x, %e : tensor<20x20xf32>, tensor<20x20xf32>
  return %y : tensor<20x20xf32>
}

// Where fuse-epilogue was left out an anchor gets a group of its own.
// CHECK-LABEL: @an_anchor_that_is_left
// CHECK: %[[S:.*]] = pascaline.fused
// CHECK-NEXT: ^bb
// CHECK-NEXT: pascaline.softmax
// CHECK-NEXT: pascaline.yield
// CHECK: pascaline.fused(%[[S]])
// CHECK: pascaline.exp
func.func @an_anchor_that_is_left(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %s = pascaline.softmax %x {axis = 1 : i64} : tensor<8x4xf32>
  %y = pascaline.exp %s : tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}
