// Neighbours of a slice share the load of its index and move together.
//
// RUN: pascaline-opt %s --pascaline-ptx | sed 's/\\0A/\n/g; s/\\09/ /g' | FileCheck %s

// CHECK: plan.kernel @gather
// CHECK: .visible .entry gather(
// CHECK-NOT: .local
// CHECK: ld.global.nc.u64
// CHECK: max.s64
// CHECK: min.s64
// CHECK: ld.global.nc.v4.f32
// CHECK: st.global.v4.f32
// CHECK-NOT: ld.global
func.func @main(%x: tensor<1000x64xf32>, %i: tensor<32xi64>) -> tensor<32x64xf32> {
  %y = pascaline.fused(%x, %i) : (tensor<1000x64xf32>, tensor<32xi64>) -> tensor<32x64xf32> {
  ^bb0(%0: tensor<1000x64xf32>, %1: tensor<32xi64>):
    %2 = pascaline.gather %0, %1 {axis = 0 : i64} : tensor<1000x64xf32>, tensor<32xi64>
    pascaline.yield %2 : tensor<32x64xf32>
  }
  return %y : tensor<32x64xf32>
}
