// RUN: pascaline-opt %s | pascaline-opt | FileCheck %s

// CHECK-LABEL: @matmul_broadcasts_batches
func.func @matmul_broadcasts_batches(%a: tensor<5x1x8x64x32xf32>, %b: tensor<3x8x16x32xf32>) -> tensor<5x3x8x64x16xf32> {
  // CHECK: pascaline.matmul %{{.*}}, %{{.*}} {transpose_b} : tensor<5x1x8x64x32xf32>, tensor<3x8x16x32xf32>
  %y = pascaline.matmul %a, %b {transpose_b} : tensor<5x1x8x64x32xf32>, tensor<3x8x16x32xf32>
  return %y : tensor<5x3x8x64x16xf32>
}

// CHECK-LABEL: @conv_of_groups
func.func @conv_of_groups(%x: tensor<2x8x15x16xf16>, %w: tensor<4x4x3x2xf16>) -> tensor<2x4x7x18xf16> {
  // CHECK: pascaline.conv
  %y = pascaline.conv %x, %w {strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>,
      pads_begin = array<i64: 0, 1>, pads_end = array<i64: 1, 3>, groups = 2 : i64}
      : tensor<2x8x15x16xf16>, tensor<4x4x3x2xf16>
  return %y : tensor<2x4x7x18xf16>
}

// CHECK-LABEL: @pools_of_one_and_three_dimensions
func.func @pools_of_one_and_three_dimensions(%x: tensor<1x2x9xi8>, %z: tensor<1x2x4x4x4xf32>) -> (tensor<1x2x4xi8>, tensor<1x2x2x2x3xf32>) {
  // CHECK: pascaline.max_pool
  %y = pascaline.max_pool %x {window = array<i64: 3>, strides = array<i64: 2>, dilations = array<i64: 1>,
      pads_begin = array<i64: 0>, pads_end = array<i64: 0>} : tensor<1x2x9xi8>
  // CHECK: pascaline.avg_pool
  %u = pascaline.avg_pool %z {window = array<i64: 2, 2, 2>, strides = array<i64: 2, 2, 2>, dilations = array<i64: 1, 1, 1>,
      pads_begin = array<i64: 0, 0, 1>, pads_end = array<i64: 0, 0, 1>,
      counted_begin = array<i64: 0, 0, 1>, counted_end = array<i64: 0, 0, 0>} : tensor<1x2x4x4x4xf32>
  return %y, %u : tensor<1x2x4xi8>, tensor<1x2x2x2x3xf32>
}
