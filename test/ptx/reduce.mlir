// Rows that lie together go to lanes that meet by shuffles; columns go to
// neighbouring threads, whose slices meet in shared memory.
//
// RUN: pascaline-opt %s --split-input-file --pascaline-ptx | sed 's/\\0A/\n/g; s/\\09/ /g' | FileCheck %s

// CHECK: plan.kernel @reduce
// CHECK-SAME: "rows, 16 lanes, 4 elements a step"
// CHECK: .visible .entry reduce(
// CHECK-NOT: .local
// CHECK: ld.global.nc.v4.f32
// CHECK: shfl.sync.bfly.b32
// CHECK-NOT: bar.sync
// CHECK: st.global.f32
func.func @main(%x: tensor<512x128xf32>) -> tensor<512x1xf32> {
  %y = pascaline.fused(%x) : (tensor<512x128xf32>) -> tensor<512x1xf32> {
  ^bb0(%0: tensor<512x128xf32>):
    %1 = pascaline.reduce sum %0 {axes = array<i64: 1>} : tensor<512x128xf32>
    pascaline.yield %1 : tensor<512x1xf32>
  }
  return %y : tensor<512x1xf32>
}

// -----

// CHECK: plan.kernel @reduce
// CHECK-SAME: "columns, 8 splits"
// CHECK: .visible .entry reduce(
// CHECK-NOT: .local
// CHECK: ld.global.nc.f32
// CHECK: st.shared.f32
// CHECK: bar.sync
// CHECK-COUNT-8: ld.shared.f32
// CHECK: st.global.f32
func.func @main(%x: tensor<512x128xf32>) -> tensor<1x128xf32> {
  %y = pascaline.fused(%x) : (tensor<512x128xf32>) -> tensor<1x128xf32> {
  ^bb0(%0: tensor<512x128xf32>):
    %1 = pascaline.reduce max %0 {axes = array<i64: 0>} : tensor<512x128xf32>
    pascaline.yield %1 : tensor<1x128xf32>
  }
  return %y : tensor<1x128xf32>
}
