// RUN: pascaline-opt %s -pascaline-fold-batch-norm -split-input-file | FileCheck %s

// bias, then scale, then shift: w * scale and bias * scale + shift.
// CHECK-LABEL: @conv_bias_and_norm
// CHECK-DAG: %[[W:.*]] = pascaline.constant dense<{{\[\[\[\[}}2.000000e+00]]], {{\[\[\[}}8.000000e+00]]]]> : tensor<2x1x1x1xf32>
// CHECK-DAG: %[[B:.*]] = pascaline.constant dense<{{\[\[\[}}1.200000e+01]], {{\[\[}}1.800000e+01]]]> : tensor<2x1x1xf32>
// CHECK: %[[C:.*]] = pascaline.conv %{{.*}}, %[[W]]
// CHECK: %[[Y:.*]] = pascaline.add %[[C]], %[[B]]
// CHECK: return %[[Y]]
func.func @conv_bias_and_norm(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = pascaline.constant dense<[[[[1.0]]], [[[2.0]]]]> : tensor<2x1x1x1xf32>
  %bias = pascaline.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>
  %scale = pascaline.constant dense<[[[2.0]], [[4.0]]]> : tensor<2x1x1xf32>
  %shift = pascaline.constant dense<10.0> : tensor<1x1x1xf32>
  %c = pascaline.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, groups = 1 : i64} : tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>
  %b = pascaline.add %c, %bias : tensor<1x2x4x4xf32>, tensor<2x1x1xf32>
  %s = pascaline.mul %scale, %b : tensor<2x1x1xf32>, tensor<1x2x4x4xf32>
  %y = pascaline.add %s, %shift : tensor<1x2x4x4xf32>, tensor<1x1x1xf32>
  return %y : tensor<1x2x4x4xf32>
}

// -----

// (1 - y) / 2 = y * -0.5 + 0.5
// CHECK-LABEL: @matmul_columns
// CHECK-DAG: pascaline.constant dense<{{\[\[}}-5.000000e-01, -1.000000e+00], [-1.500000e+00, -2.000000e+00]]>
// CHECK-DAG: pascaline.constant dense<5.000000e-01> : tensor<2xf32>
// CHECK: pascaline.matmul
// CHECK-NEXT: pascaline.add
// CHECK-NEXT: return
func.func @matmul_columns(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %w = pascaline.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %one = pascaline.constant dense<1.0> : tensor<f32>
  %two = pascaline.constant dense<2.0> : tensor<2xf32>
  %c = pascaline.matmul %x, %w : tensor<3x2xf32>, tensor<2x2xf32>
  %s = pascaline.sub %one, %c : tensor<f32>, tensor<3x2xf32>
  %y = pascaline.div %s, %two : tensor<3x2xf32>, tensor<2xf32>
  return %y : tensor<3x2xf32>
}

// -----

// With transpose_b the columns of the product are the weights' rows.
// CHECK-LABEL: @matmul_rows_of_a_transposed_b
// CHECK: pascaline.constant dense<{{\[\[}}1.000000e+01, 2.000000e+01], [3.000000e+02, 4.000000e+02]]>
// CHECK: pascaline.matmul %{{.*}}, %{{.*}} {transpose_b}
// CHECK-NEXT: return
func.func @matmul_rows_of_a_transposed_b(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %w = pascaline.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %scale = pascaline.constant dense<[10.0, 100.0]> : tensor<2xf32>
  %c = pascaline.matmul %x, %w {transpose_b} : tensor<3x2xf32>, tensor<2x2xf32>
  %y = pascaline.mul %c, %scale : tensor<3x2xf32>, tensor<2xf32>
  return %y : tensor<3x2xf32>
}

// -----

// CHECK-LABEL: @shared_weights_are_cloned
// CHECK-DAG: %[[W:.*]] = pascaline.constant dense<3.000000e+00> : tensor<2x2xf32>
// CHECK-DAG: %[[W2:.*]] = pascaline.constant dense<6.000000e+00> : tensor<2x2xf32>
// CHECK: pascaline.matmul %{{.*}}, %[[W2]]
// CHECK: pascaline.matmul %{{.*}}, %[[W]]
func.func @shared_weights_are_cloned(%x: tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %w = pascaline.constant dense<3.0> : tensor<2x2xf32>
  %two = pascaline.constant dense<2.0> : tensor<f32>
  %c = pascaline.matmul %x, %w : tensor<3x2xf32>, tensor<2x2xf32>
  %y = pascaline.mul %c, %two : tensor<3x2xf32>, tensor<f32>
  %z = pascaline.matmul %y, %w : tensor<3x2xf32>, tensor<2x2xf32>
  return %y, %z : tensor<3x2xf32>, tensor<3x2xf32>
}

// -----

// CHECK-LABEL: @a_product_with_another_use_is_left_alone
// CHECK: pascaline.mul
func.func @a_product_with_another_use_is_left_alone(%x: tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %w = pascaline.constant dense<3.0> : tensor<2x2xf32>
  %two = pascaline.constant dense<2.0> : tensor<f32>
  %c = pascaline.matmul %x, %w : tensor<3x2xf32>, tensor<2x2xf32>
  %y = pascaline.mul %c, %two : tensor<3x2xf32>, tensor<f32>
  return %c, %y : tensor<3x2xf32>, tensor<3x2xf32>
}

// -----

// CHECK-LABEL: @a_bias_alone_is_left_alone
// CHECK: pascaline.constant dense<{{\[}}1.000000e+00, 2.000000e+00]>
// CHECK: pascaline.add
func.func @a_bias_alone_is_left_alone(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %w = pascaline.constant dense<3.0> : tensor<2x2xf32>
  %b = pascaline.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %c = pascaline.matmul %x, %w : tensor<3x2xf32>, tensor<2x2xf32>
  %y = pascaline.add %c, %b : tensor<3x2xf32>, tensor<2xf32>
  return %y : tensor<3x2xf32>
}

// -----

// Rows of the product are no channels of its right operand; nor are columns
// those of the widened product below.
// CHECK-LABEL: @other_dimensions_are_left_alone
// CHECK-COUNT-2: pascaline.mul
func.func @other_dimensions_are_left_alone(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<5x2x2xf32>) {
  %w = pascaline.constant dense<3.0> : tensor<2x2xf32>
  %rows = pascaline.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %wide = pascaline.constant dense<2.0> : tensor<5x1x1xf32>
  %c = pascaline.matmul %x, %w : tensor<2x2xf32>, tensor<2x2xf32>
  %y = pascaline.mul %c, %rows : tensor<2x2xf32>, tensor<2x1xf32>
  %d = pascaline.matmul %y, %w : tensor<2x2xf32>, tensor<2x2xf32>
  %z = pascaline.mul %d, %wide : tensor<2x2xf32>, tensor<5x1x1xf32>
  return %y, %z : tensor<2x2xf32>, tensor<5x2x2xf32>
}

// -----

// 3e38 * 2 overflows; the product may not.
// CHECK-LABEL: @weights_that_would_overflow_are_left_alone
// CHECK: pascaline.mul
func.func @weights_that_would_overflow_are_left_alone(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %w = pascaline.constant dense<3.0e38> : tensor<2x2xf32>
  %two = pascaline.constant dense<2.0> : tensor<f32>
  %c = pascaline.matmul %x, %w : tensor<3x2xf32>, tensor<2x2xf32>
  %y = pascaline.mul %c, %two : tensor<3x2xf32>, tensor<f32>
  return %y : tensor<3x2xf32>
}

// -----

// CHECK-LABEL: @weights_of_run_time_are_left_alone
// CHECK: pascaline.mul
func.func @weights_of_run_time_are_left_alone(%x: tensor<3x2xf32>, %w: tensor<2x2xf32>) -> tensor<3x2xf32> {
  %two = pascaline.constant dense<2.0> : tensor<f32>
  %c = pascaline.matmul %x, %w : tensor<3x2xf32>, tensor<2x2xf32>
  %y = pascaline.mul %c, %two : tensor<3x2xf32>, tensor<f32>
  return %y : tensor<3x2xf32>
}
