// A row of a thousand stays in the registers of a warp: one read, one write.
//
// RUN: pascaline-opt %s --pascaline-ptx | sed 's/\\0A/\n/g; s/\\09/ /g' | FileCheck %s

// CHECK: plan.kernel @softmax
// CHECK-SAME: "32 lanes a row, 4 elements a step, kept"
// CHECK: .visible .entry softmax(
// CHECK-NOT: .local
// CHECK-COUNT-8: ld.global.nc.v4.f32
// CHECK-NOT: ld.global
// CHECK: shfl.sync.bfly.b32
// CHECK-COUNT-8: st.global.v4.f32
func.func @main(%x: tensor<2048x1024xf32>) -> tensor<2048x1024xf32> {
  %y = pascaline.fused(%x) : (tensor<2048x1024xf32>) -> tensor<2048x1024xf32> {
  ^bb0(%0: tensor<2048x1024xf32>):
    %1 = pascaline.softmax %0 {axis = 1 : i64} : tensor<2048x1024xf32>
    pascaline.yield %1 : tensor<2048x1024xf32>
  }
  return %y : tensor<2048x1024xf32>
}
