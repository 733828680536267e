// A constant factor is packed and read by 128-bit loads without a mask; sums
// stay in registers; bias and relu follow them there. Few outputs of much
// depth are sliced, and the last block of a tile adds the slices.
//
// RUN: pascaline-opt %s --pascaline-ptx | sed 's/\\0A/\n/g; s/\\09/ /g' | FileCheck %s

// CHECK: plan.kernel @matmul_add_relu
// CHECK-SAME: slices
// CHECK: .visible .entry matmul_add_relu(
// CHECK: .maxntid
// CHECK: .minnctapersm
// CHECK-NOT: .local
// CHECK: ld.global.nc.v4.f32
// CHECK: st.shared
// CHECK: bar.sync
// CHECK: ld.shared.v4.f32
// CHECK: @%p{{[0-9]+}} ld.global.nc.v4.f32
// CHECK: fma.rn.f32
// CHECK-NOT: ld.shared.f32
// CHECK: membar.gl
// CHECK: atom.global.add.u32
// CHECK: nounroll
// CHECK: st.global.v4.f32
// CHECK: plan.launch @matmul_add_relu
func.func @main(%x: tensor<64x2048xf32>, %b: tensor<128xf32>) -> tensor<64x128xf32> {
  %w = pascaline.constant dense<0.5> : tensor<2048x128xf32>
  %y = pascaline.fused(%x, %w, %b) : (tensor<64x2048xf32>, tensor<2048x128xf32>,
      tensor<128xf32>) -> tensor<64x128xf32> {
  ^bb0(%0: tensor<64x2048xf32>, %1: tensor<2048x128xf32>, %2: tensor<128xf32>):
    %3 = pascaline.matmul %0, %1 : tensor<64x2048xf32>, tensor<2048x128xf32>
    %4 = pascaline.add %3, %2 : tensor<64x128xf32>, tensor<128xf32>
    %5 = pascaline.relu %4 : tensor<64x128xf32>
    pascaline.yield %5 : tensor<64x128xf32>
  }
  return %y : tensor<64x128xf32>
}
