// RUN: pascaline-opt %s -pascaline-absorb-pads | FileCheck %s

// CHECK-LABEL: @zeros_before_a_conv
// CHECK-NOT: pascaline.pad
// CHECK: pascaline.conv %{{.*}} {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_begin = array<i64: 2, 1>, pads_end = array<i64: 1, 1>
func.func @zeros_before_a_conv(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x9x8xf32> {
  %zero = pascaline.constant dense<0.0> : tensor<f32>
  %p = pascaline.pad constant %x, %zero {low = array<i64: 0, 0, 1, 0>, high = array<i64: 0, 0, 0, 0>} : tensor<1x3x8x8xf32>, tensor<f32>
  %y = pascaline.conv %p, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, groups = 1 : i64} : tensor<1x3x9x8xf32>, tensor<4x3x3x3xf32>
  return %y : tensor<1x4x9x8xf32>
}

// Channels last: the transpose moves above the pad.
// CHECK-LABEL: @a_transpose_between_pad_and_conv
// CHECK-SAME: (%[[X:.*]]: tensor<1x8x9x3xf32>
// CHECK: %[[T:.*]] = pascaline.transpose %[[X]] {perm = array<i64: 0, 3, 1, 2>}
// CHECK: pascaline.conv %[[T]], {{.*}}pads_begin = array<i64: 0, 1>, pads_end = array<i64: 2, 0>
func.func @a_transpose_between_pad_and_conv(%x: tensor<1x8x9x3xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32> {
  %zero = pascaline.constant dense<0.0> : tensor<f32>
  %p = pascaline.pad constant %x, %zero {low = array<i64: 0, 0, 1, 0>, high = array<i64: 0, 2, 0, 0>} : tensor<1x8x9x3xf32>, tensor<f32>
  %t = pascaline.transpose %p {perm = array<i64: 0, 3, 1, 2>} : tensor<1x10x10x3xf32>
  %y = pascaline.conv %t, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, groups = 1 : i64} : tensor<1x3x10x10xf32>, tensor<4x3x3x3xf32>
  return %y : tensor<1x4x8x8xf32>
}

// CHECK-LABEL: @a_transpose_that_others_read_is_left_alone
// CHECK: pascaline.pad
// CHECK-NEXT: pascaline.transpose
func.func @a_transpose_that_others_read_is_left_alone(%x: tensor<2x3xf32>) -> tensor<5x2xf32> {
  %zero = pascaline.constant dense<0.0> : tensor<f32>
  %p = pascaline.pad constant %x, %zero {low = array<i64: 0, 1>, high = array<i64: 0, 1>} : tensor<2x3xf32>, tensor<f32>
  %t = pascaline.transpose %p {perm = array<i64: 1, 0>} : tensor<2x5xf32>
  return %t : tensor<5x2xf32>
}

// The pad stays for its other reader.
// CHECK-LABEL: @a_pad_with_two_readers
// CHECK: %[[P:.*]] = pascaline.pad constant %[[X:[a-z0-9]+]],
// CHECK: pascaline.conv %[[X]],
// CHECK: return %{{.*}}, %[[P]]
func.func @a_pad_with_two_readers(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) -> (tensor<1x4x8xf32>, tensor<1x3x10xf32>) {
  %zero = pascaline.constant dense<0.0> : tensor<f32>
  %p = pascaline.pad constant %x, %zero {low = array<i64: 0, 0, 1>, high = array<i64: 0, 0, 1>} : tensor<1x3x8xf32>, tensor<f32>
  %y = pascaline.conv %p, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_begin = array<i64: 0>, pads_end = array<i64: 0>, groups = 1 : i64} : tensor<1x3x10xf32>, tensor<4x3x3xf32>
  return %y, %p : tensor<1x4x8xf32>, tensor<1x3x10xf32>
}

// CHECK-LABEL: @other_pads_before_a_conv_are_left_alone
// CHECK-COUNT-3: pascaline.pad
func.func @other_pads_before_a_conv_are_left_alone(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>, %v: tensor<4x4x3xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x6xf32>) {
  %zero = pascaline.constant dense<0.0> : tensor<f32>
  %one = pascaline.constant dense<1.0> : tensor<f32>
  %ones = pascaline.pad constant %x, %one {low = array<i64: 0, 0, 1>, high = array<i64: 0, 0, 1>} : tensor<1x3x8xf32>, tensor<f32>
  %edge = pascaline.pad edge %x, %zero {low = array<i64: 0, 0, 1>, high = array<i64: 0, 0, 1>} : tensor<1x3x8xf32>, tensor<f32>
  %channel = pascaline.pad constant %x, %zero {low = array<i64: 0, 1, 0>, high = array<i64: 0, 0, 0>} : tensor<1x3x8xf32>, tensor<f32>
  %a = pascaline.conv %ones, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_begin = array<i64: 0>, pads_end = array<i64: 0>, groups = 1 : i64} : tensor<1x3x10xf32>, tensor<4x3x3xf32>
  %b = pascaline.conv %edge, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_begin = array<i64: 0>, pads_end = array<i64: 0>, groups = 1 : i64} : tensor<1x3x10xf32>, tensor<4x3x3xf32>
  %c = pascaline.conv %channel, %v {strides = array<i64: 1>, dilations = array<i64: 1>, pads_begin = array<i64: 0>, pads_end = array<i64: 0>, groups = 1 : i64} : tensor<1x4x8xf32>, tensor<4x4x3xf32>
  return %a, %b, %c : tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x6xf32>
}

// What was an element of x still counts.
// CHECK-LABEL: @zeros_before_a_mean
// CHECK-NOT: pascaline.pad
// CHECK: pascaline.avg_pool %{{.*}} {counted_begin = array<i64: 1>, counted_end = array<i64: 0>, dilations = array<i64: 1>, pads_begin = array<i64: 2>, pads_end = array<i64: 1>
func.func @zeros_before_a_mean(%x: tensor<1x3x8xf32>) -> tensor<1x3x9xf32> {
  %zero = pascaline.constant dense<0.0> : tensor<f32>
  %p = pascaline.pad constant %x, %zero {low = array<i64: 0, 0, 1>, high = array<i64: 0, 0, 0>} : tensor<1x3x8xf32>, tensor<f32>
  %y = pascaline.avg_pool %p {window = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_begin = array<i64: 1>, pads_end = array<i64: 1>, counted_begin = array<i64: 0>, counted_end = array<i64: 0>} : tensor<1x3x9xf32>
  return %y : tensor<1x3x9xf32>
}

// CHECK-LABEL: @a_fill_that_never_wins
// CHECK-NOT: pascaline.pad
// CHECK-COUNT-2: pads_begin = array<i64: 1>, pads_end = array<i64: 1>
func.func @a_fill_that_never_wins(%x: tensor<1x3x8xf32>) -> (tensor<1x3x8xf32>, tensor<1x3x8xf32>) {
  %zero = pascaline.constant dense<0.0> : tensor<f32>
  %low = pascaline.constant dense<0xFF800000> : tensor<f32>
  %r = pascaline.relu %x : tensor<1x3x8xf32>
  %p = pascaline.pad constant %r, %zero {low = array<i64: 0, 0, 1>, high = array<i64: 0, 0, 1>} : tensor<1x3x8xf32>, tensor<f32>
  %q = pascaline.pad constant %x, %low {low = array<i64: 0, 0, 1>, high = array<i64: 0, 0, 1>} : tensor<1x3x8xf32>, tensor<f32>
  %y = pascaline.max_pool %p {window = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_begin = array<i64: 0>, pads_end = array<i64: 0>} : tensor<1x3x10xf32>
  %z = pascaline.max_pool %q {window = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_begin = array<i64: 0>, pads_end = array<i64: 0>} : tensor<1x3x10xf32>
  return %y, %z : tensor<1x3x8xf32>, tensor<1x3x8xf32>
}

// Zero may be the largest where x is negative, or where a window holds nothing
// else.
// CHECK-LABEL: @a_fill_that_may_win_is_left_alone
// CHECK-COUNT-2: pascaline.pad
func.func @a_fill_that_may_win_is_left_alone(%x: tensor<1x3x8xf32>) -> (tensor<1x3x8xf32>, tensor<1x3x12xf32>) {
  %zero = pascaline.constant dense<0.0> : tensor<f32>
  %r = pascaline.relu %x : tensor<1x3x8xf32>
  %p = pascaline.pad constant %x, %zero {low = array<i64: 0, 0, 1>, high = array<i64: 0, 0, 1>} : tensor<1x3x8xf32>, tensor<f32>
  %q = pascaline.pad constant %r, %zero {low = array<i64: 0, 0, 3>, high = array<i64: 0, 0, 3>} : tensor<1x3x8xf32>, tensor<f32>
  %y = pascaline.max_pool %p {window = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_begin = array<i64: 0>, pads_end = array<i64: 0>} : tensor<1x3x10xf32>
  %z = pascaline.max_pool %q {window = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_begin = array<i64: 0>, pads_end = array<i64: 0>} : tensor<1x3x14xf32>
  return %y, %z : tensor<1x3x8xf32>, tensor<1x3x12xf32>
}
