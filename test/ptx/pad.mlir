// Rows of channels are padded with whole vectors: one compare and one select
// a vector's element, no branch.
//
// RUN: pascaline-opt %s --pascaline-ptx | sed 's/\\0A/\n/g; s/\\09/ /g' | FileCheck %s

// CHECK: plan.kernel @pad
// CHECK: .visible .entry pad(
// CHECK-NOT: .local
// CHECK: min.u32
// CHECK: ld.global.nc.v4.f32
// CHECK-COUNT-4: selp.f32
// CHECK: st.global.v4.f32
func.func @main(%x: tensor<8x14x16xf32>) -> tensor<8x16x16xf32> {
  %y = pascaline.fused(%x) : (tensor<8x14x16xf32>) -> tensor<8x16x16xf32> {
  ^bb0(%0: tensor<8x14x16xf32>):
    %1 = pascaline.constant dense<0.0> : tensor<f32>
    %2 = pascaline.pad constant %0, %1 {low = array<i64: 0, 1, 0>,
        high = array<i64: 0, 1, 0>} : tensor<8x14x16xf32>, tensor<f32>
    pascaline.yield %2 : tensor<8x16x16xf32>
  }
  return %y : tensor<8x16x16xf32>
}
