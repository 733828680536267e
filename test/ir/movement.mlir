// RUN: pascaline-opt %s | pascaline-opt | FileCheck %s

// CHECK-LABEL: @every_movement
func.func @every_movement(%x: tensor<2x3x4xf32>, %fill: tensor<f32>, %i: tensor<5x6xi64>)
    -> (tensor<4x2x3xf32>, tensor<24xf32>, tensor<7x2x3x4xf32>, tensor<1x3x2xf32>, tensor<2x6x4xf32>, tensor<2x4x9xf32>, tensor<2x5x6x4xf32>) {
  // CHECK: pascaline.transpose %{{.*}} {perm = array<i64: 2, 0, 1>} : tensor<2x3x4xf32>
  %t = pascaline.transpose %x {perm = array<i64: 2, 0, 1>} : tensor<2x3x4xf32>
  // CHECK: pascaline.reshape %{{.*}} : tensor<2x3x4xf32> -> tensor<24xf32>
  %r = pascaline.reshape %x : tensor<2x3x4xf32> -> tensor<24xf32>
  // CHECK: pascaline.broadcast %{{.*}} : tensor<2x3x4xf32> -> tensor<7x2x3x4xf32>
  %b = pascaline.broadcast %x : tensor<2x3x4xf32> -> tensor<7x2x3x4xf32>
  // CHECK: pascaline.slice
  %s = pascaline.slice %x {starts = array<i64: 1, 2, 0>, steps = array<i64: 1, -1, 3>, sizes = array<i64: 1, 3, 2>} : tensor<2x3x4xf32>
  // CHECK: pascaline.concat
  %c = pascaline.concat %x, %x {axis = 1 : i64} : tensor<2x3x4xf32>, tensor<2x3x4xf32>
  // CHECK: pascaline.pad constant
  %p = pascaline.pad constant %x, %fill {low = array<i64: 0, 1, 2>, high = array<i64: 0, 0, 3>} : tensor<2x3x4xf32>, tensor<f32>
  // CHECK: pascaline.gather
  %g = pascaline.gather %x, %i {axis = 1 : i64} : tensor<2x3x4xf32>, tensor<5x6xi64>
  return %t, %r, %b, %s, %c, %p, %g : tensor<4x2x3xf32>, tensor<24xf32>, tensor<7x2x3x4xf32>, tensor<1x3x2xf32>, tensor<2x6x4xf32>, tensor<2x4x9xf32>, tensor<2x5x6x4xf32>
}

// CHECK-LABEL: @constants
func.func @constants() -> (tensor<2xui8>, tensor<3xi1>, tensor<300xf32>) {
  // CHECK: pascaline.constant dense<[1, 255]> : tensor<2xui8>
  %a = pascaline.constant dense<[1, 255]> : tensor<2xui8>
  // CHECK: pascaline.constant dense<[true, false, true]> : tensor<3xi1>
  %b = pascaline.constant dense<[true, false, true]> : tensor<3xi1>
  // CHECK: pascaline.constant dense_resource<__elided__> : tensor<300xf32>
  %c = pascaline.constant dense_resource<__elided__> : tensor<300xf32>
  return %a, %b, %c : tensor<2xui8>, tensor<3xi1>, tensor<300xf32>
}
