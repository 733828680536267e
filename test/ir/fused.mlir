// RUN: pascaline-opt %s | pascaline-opt | FileCheck %s

// CHECK-LABEL: @a_group_reads_back
func.func @a_group_reads_back(%x: tensor<8x4xf32>, %w: tensor<4x2xf32>, %b: tensor<2xf32>) -> (tensor<2x8xf32>, tensor<8x2xf32>) {
  // CHECK: %[[Y:.*]]:2 = pascaline.fused(%{{.*}}, %{{.*}}, %{{.*}}) : (tensor<8x4xf32>, tensor<4x2xf32>, tensor<2xf32>) -> (tensor<2x8xf32>, tensor<8x2xf32>) {
  // CHECK: pascaline.yield %{{.*}}, %{{.*}} : tensor<2x8xf32>, tensor<8x2xf32>
  %y, %z = pascaline.fused(%x, %w, %b) : (tensor<8x4xf32>, tensor<4x2xf32>, tensor<2xf32>) -> (tensor<2x8xf32>, tensor<8x2xf32>) {
  ^bb0(%0: tensor<8x4xf32>, %1: tensor<4x2xf32>, %2: tensor<2xf32>):
    %one = pascaline.constant dense<1.0> : tensor<f32>
    %3 = pascaline.matmul %0, %1 : tensor<8x4xf32>, tensor<4x2xf32>
    %4 = pascaline.add %3, %2 : tensor<8x2xf32>, tensor<2xf32>
    %5 = pascaline.mul %4, %one : tensor<8x2xf32>, tensor<f32>
    %6 = pascaline.transpose %5 {perm = array<i64: 1, 0>} : tensor<8x2xf32>
    pascaline.yield %6, %4 : tensor<2x8xf32>, tensor<8x2xf32>
  }
  return %y, %z : tensor<2x8xf32>, tensor<8x2xf32>
}
