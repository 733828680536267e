// RUN: pascaline-opt %s | pascaline-opt | FileCheck %s

// CHECK-LABEL: @reduced_axes_stay_as_one
func.func @reduced_axes_stay_as_one(%x: tensor<2x3x4xf32>) -> (tensor<2x1x1xf32>, tensor<2x3x4xf32>) {
  // CHECK: pascaline.reduce sum %{{.*}} {axes = array<i64: 1, 2>} : tensor<2x3x4xf32>
  %r = pascaline.reduce sum %x {axes = array<i64: 1, 2>} : tensor<2x3x4xf32>
  // CHECK: pascaline.softmax %{{.*}} {axis = 2 : i64, log} : tensor<2x3x4xf32>
  %s = pascaline.softmax %x {axis = 2 : i64, log} : tensor<2x3x4xf32>
  return %r, %s : tensor<2x1x1xf32>, tensor<2x3x4xf32>
}
