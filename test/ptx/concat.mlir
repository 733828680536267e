// A block copies from one input; whole rows move 128 bits at a time.
//
// RUN: pascaline-opt %s --pascaline-ptx | sed 's/\\0A/\n/g; s/\\09/ /g' | FileCheck %s

// CHECK: plan.kernel @concat
// CHECK: .visible .entry concat(
// CHECK-NOT: .local
// CHECK: ld.global.nc.v4.f32
// CHECK: st.global.v4.f32
// CHECK: ld.global.nc.v4.f32
// CHECK: st.global.v4.f32
// CHECK: plan.launch @concat
// CHECK-SAME: grid = array<i64: 6, 1, 1>
func.func @main(%a: tensor<4x64x16xf32>, %b: tensor<4x32x16xf32>) -> tensor<4x96x16xf32> {
  %y = pascaline.fused(%a, %b) : (tensor<4x64x16xf32>, tensor<4x32x16xf32>) -> tensor<4x96x16xf32> {
  ^bb0(%0: tensor<4x64x16xf32>, %1: tensor<4x32x16xf32>):
    %2 = pascaline.concat %0, %1 {axis = 1 : i64} : tensor<4x64x16xf32>, tensor<4x32x16xf32>
    pascaline.yield %2 : tensor<4x96x16xf32>
  }
  return %y : tensor<4x96x16xf32>
}
