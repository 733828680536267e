// RUN: pascaline-opt %s --split-input-file --pascaline-store-half | FileCheck %s
// RUN: pascaline-opt %s --split-input-file --pascaline-store-half 2>&1 >/dev/null | FileCheck %s --check-prefix=LARGE
// RUN: pascaline-opt %s --split-input-file --pascaline-store-half=keep-fp32=late | FileCheck %s --check-prefix=KEEP
// RUN: not pascaline-opt %s --split-input-file --pascaline-store-half=keep-fp32=nowhere 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not pascaline-opt %s --split-input-file "--pascaline-store-half=keep-fp32=(" 2>&1 | FileCheck %s --check-prefix=REGEX

// What lies between groups and weights become half; the arithmetic does not,
// nor does what the caller sees. A reshape between groups follows.
// NONE: keep-fp32 "nowhere" matches no node of the optimised graph
// REGEX: keep-fp32 "(" is no regular expression
// CHECK-LABEL: @between_groups
// CHECK-SAME: tensor<8x4xf32>
// CHECK: pascaline.constant dense<{{.*}}> : tensor<4x2xf16>
// CHECK: pascaline.fused
// CHECK-SAME: (tensor<8x4xf32>, tensor<4x2xf16>) -> tensor<8x2xf16>
// CHECK: pascaline.cast %{{.*}} : tensor<4x2xf16> -> tensor<4x2xf32>
// CHECK-NEXT: pascaline.matmul {{.*}} : tensor<8x4xf32>, tensor<4x2xf32>
// CHECK-NEXT: pascaline.cast %{{.*}} : tensor<8x2xf32> -> tensor<8x2xf16>
// CHECK: pascaline.reshape %{{.*}} tensor<16xf16>
// CHECK: pascaline.fused
// CHECK-SAME: (tensor<16xf16>) -> tensor<16xf32>
// CHECK: pascaline.cast %{{.*}} : tensor<16xf16> -> tensor<16xf32>
// CHECK-NEXT: pascaline.relu {{.*}} : tensor<16xf32>
// KEEP-LABEL: @between_groups
// KEEP-NOT: f16
func.func @between_groups(%x: tensor<8x4xf32>) -> tensor<16xf32> {
  %w = pascaline.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : tensor<4x2xf32>
  %t = pascaline.fused(%x, %w) : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32> {
  ^bb0(%0: tensor<8x4xf32>, %1: tensor<4x2xf32>):
    %2 = pascaline.matmul %0, %1 : tensor<8x4xf32>, tensor<4x2xf32> loc("late_matmul")
    pascaline.yield %2 : tensor<8x2xf32>
  }
  %r = pascaline.reshape %t : tensor<8x2xf32> -> tensor<16xf32>
  %y = pascaline.fused(%r) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%0: tensor<16xf32>):
    %1 = pascaline.relu %0 : tensor<16xf32> loc("relu")
    pascaline.yield %1 : tensor<16xf32>
  }
  return %y : tensor<16xf32>
}

// -----

// What the caller gives and gets, sums, exponentials, what integers are made
// of, numbers beyond half's and far below it stay float.
// CHECK-LABEL: @stays_float
// CHECK-NOT: f16
// CHECK: return
// KEEP-LABEL: @stays_float
func.func @stays_float(%x: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xi32>) {
  %big = pascaline.constant dense<[[70000.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]> : tensor<2x4xf32>
  %tiny = pascaline.constant dense<[[1.0e-8, 3.0e-8, 2.0e-8, 1.0e-8], [1.0e-8, 1.0e-8, 1.0e-8, 1.0e-8]]> : tensor<2x4xf32>
  %b = pascaline.fused(%big, %tiny, %x) : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%0: tensor<2x4xf32>, %1: tensor<2x4xf32>, %2: tensor<8x4xf32>):
    %3 = pascaline.add %0, %1 : tensor<2x4xf32>, tensor<2x4xf32>
    %4 = pascaline.slice %3 {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>, sizes = array<i64: 1, 4>} : tensor<2x4xf32>
    %5 = pascaline.add %2, %4 : tensor<8x4xf32>, tensor<1x4xf32> loc("late_add")
    pascaline.yield %5 : tensor<8x4xf32>
  }
  %s = pascaline.fused(%x) : (tensor<8x4xf32>) -> tensor<8x1xf32> {
  ^bb0(%0: tensor<8x4xf32>):
    %1 = pascaline.reduce sum %0 {axes = array<i64: 1>} : tensor<8x4xf32>
    pascaline.yield %1 : tensor<8x1xf32>
  }
  %e = pascaline.fused(%x) : (tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%0: tensor<8x4xf32>):
    %1 = pascaline.exp %0 : tensor<8x4xf32>
    pascaline.yield %1 : tensor<8x4xf32>
  }
  %y = pascaline.fused(%s, %e) : (tensor<8x1xf32>, tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%0: tensor<8x1xf32>, %1: tensor<8x4xf32>):
    %2 = pascaline.add %1, %0 : tensor<8x4xf32>, tensor<8x1xf32>
    pascaline.yield %2 : tensor<8x4xf32>
  }
  %f = pascaline.fused(%x) : (tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%0: tensor<8x4xf32>):
    %1 = pascaline.relu %0 : tensor<8x4xf32>
    pascaline.yield %1 : tensor<8x4xf32>
  }
  %i = pascaline.fused(%f) : (tensor<8x4xf32>) -> tensor<8x4xi32> {
  ^bb0(%0: tensor<8x4xf32>):
    %1 = pascaline.cast %0 : tensor<8x4xf32> -> tensor<8x4xi32>
    pascaline.yield %1 : tensor<8x4xi32>
  }
  return %b, %y, %i : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xi32>
}

// -----

// What is exposed shows what lies in memory; what the model returns does not.
// CHECK-LABEL: @exposed
// CHECK-SAME: -> (tensor<8x4xf32>, tensor<8x4xf16> {pascaline.exposed})
// CHECK: %[[A:.*]] = pascaline.fused
// CHECK-SAME: (tensor<8x4xf32>) -> tensor<8x4xf16>
// CHECK: %[[B:.*]] = pascaline.fused(%[[A]]) : (tensor<8x4xf16>) -> tensor<8x4xf32>
// CHECK: return %[[B]], %[[A]]
func.func @exposed(%x: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32> {pascaline.exposed}) {
  %a = pascaline.fused(%x) : (tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%0: tensor<8x4xf32>):
    %1 = pascaline.relu %0 : tensor<8x4xf32> loc("late_relu")
    pascaline.yield %1 : tensor<8x4xf32>
  }
  %b = pascaline.fused(%a) : (tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%0: tensor<8x4xf32>):
    %1 = pascaline.sqrt %0 : tensor<8x4xf32>
    pascaline.yield %1 : tensor<8x4xf32>
  }
  return %b, %a : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// What calibration has seen to come near half's largest number stays float and
// is named; the rest, and the mark itself, goes.
// LARGE: remark: node "late_far": its result stays float: it reaches 32753 on the samples, and half is taken up to 32752
// LARGE-NOT: remark: node
// CHECK-LABEL: @calibrated
// CHECK-NOT: pascaline.largest
// CHECK: pascaline.fused(%{{.*}}) : (tensor<8x4xf32>) -> (tensor<8x4xf16>, tensor<8x4xf32>)
// CHECK: return
func.func @calibrated(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %a:2 = pascaline.fused(%x) {pascaline.largest = array<f64: 32752.0, 32753.0>} : (tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  ^bb0(%0: tensor<8x4xf32>):
    %1 = pascaline.relu %0 : tensor<8x4xf32> loc("near")
    %2 = pascaline.sqrt %1 : tensor<8x4xf32> loc("late_far")
    pascaline.yield %1, %2 : tensor<8x4xf32>, tensor<8x4xf32>
  }
  %b = pascaline.fused(%a#0, %a#1) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%0: tensor<8x4xf32>, %1: tensor<8x4xf32>):
    %2 = pascaline.add %0, %1 : tensor<8x4xf32>, tensor<8x4xf32>
    pascaline.yield %2 : tensor<8x4xf32>
  }
  return %b : tensor<8x4xf32>
}
