// Two rows of four outputs share the 4 x 6 elements under them; the filter's
// nine weights are loaded once.
//
// RUN: pascaline-opt %s --pascaline-ptx | sed 's/\\0A/\n/g; s/\\09/ /g' | FileCheck %s

// CHECK: plan.kernel @conv_add_relu
// CHECK-SAME: "2x4 outputs a thread"
// CHECK: .visible .entry conv_add_relu(
// CHECK-NOT: .local
// CHECK-NOT: .shared
// CHECK-COUNT-72: fma.rn.f32
// CHECK-COUNT-2: st.global.v4.f32
func.func @main(%x: tensor<4x32x56x56xf32>, %w: tensor<32x1x3x3xf32>,
    %b: tensor<32x1x1xf32>) -> tensor<4x32x56x56xf32> {
  %y = pascaline.fused(%x, %w, %b) : (tensor<4x32x56x56xf32>, tensor<32x1x3x3xf32>,
      tensor<32x1x1xf32>) -> tensor<4x32x56x56xf32> {
  ^bb0(%0: tensor<4x32x56x56xf32>, %1: tensor<32x1x3x3xf32>, %2: tensor<32x1x1xf32>):
    %3 = pascaline.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
        pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, groups = 32 : i64}
        : tensor<4x32x56x56xf32>, tensor<32x1x3x3xf32>
    %4 = pascaline.add %3, %2 : tensor<4x32x56x56xf32>, tensor<32x1x1xf32>
    %5 = pascaline.relu %4 : tensor<4x32x56x56xf32>
    pascaline.yield %5 : tensor<4x32x56x56xf32>
  }
  return %y : tensor<4x32x56x56xf32>
}
