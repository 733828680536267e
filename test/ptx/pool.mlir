// Padding costs a compare and a select, no branch; windows share loads.
//
// RUN: pascaline-opt %s --pascaline-ptx | sed 's/\\0A/\n/g; s/\\09/ /g' | FileCheck %s

// CHECK: plan.kernel @max_pool
// CHECK-SAME: block = array<i64: 128, 1, 1>
// CHECK-SAME: "1x4 outputs a thread"
// CHECK: .visible .entry max_pool(
// CHECK-NOT: .local
// CHECK-COUNT-27: selp.f32
// CHECK: st.global.v4.f32
func.func @main(%x: tensor<8x64x112x112xf32>) -> tensor<8x64x56x56xf32> {
  %y = pascaline.fused(%x) : (tensor<8x64x112x112xf32>) -> tensor<8x64x56x56xf32> {
  ^bb0(%0: tensor<8x64x112x112xf32>):
    %1 = pascaline.max_pool %0 {window = array<i64: 3, 3>, strides = array<i64: 2, 2>,
        dilations = array<i64: 1, 1>, pads_begin = array<i64: 1, 1>,
        pads_end = array<i64: 1, 1>} : tensor<8x64x112x112xf32>
    pascaline.yield %1 : tensor<8x64x56x56xf32>
  }
  return %y : tensor<8x64x56x56xf32>
}
