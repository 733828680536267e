// A transpose that moves the innermost dimension goes through shared memory;
// one that does not keeps moving whole vectors.
//
// RUN: pascaline-opt %s --split-input-file --pascaline-ptx | sed 's/\\0A/\n/g; s/\\09/ /g' | FileCheck %s

// CHECK: plan.kernel @transpose
// CHECK-SAME: block = array<i64: 256, 1, 1>
// CHECK-SAME: "tiles of 32x32"
// CHECK: .visible .entry transpose(
// CHECK-NOT: .local
// CHECK-COUNT-4: ld.global.nc.f32
// CHECK-COUNT-4: st.shared.f32
// CHECK: bar.sync
// CHECK: ld.shared.f32
// CHECK: st.global.f32
// CHECK: shared_bytes = 4224
func.func @main(%x: tensor<128x256xf32>) -> tensor<256x128xf32> {
  %y = pascaline.fused(%x) : (tensor<128x256xf32>) -> tensor<256x128xf32> {
  ^bb0(%0: tensor<128x256xf32>):
    %1 = pascaline.transpose %0 {perm = array<i64: 1, 0>} : tensor<128x256xf32>
    pascaline.yield %1 : tensor<256x128xf32>
  }
  return %y : tensor<256x128xf32>
}

// -----

// CHECK: plan.kernel @transpose
// CHECK-SAME: "4 elements a thread"
// CHECK: ld.global.nc.v4.f32
// CHECK: st.global.v4.f32
func.func @main(%x: tensor<16x8x64xf32>) -> tensor<8x16x64xf32> {
  %y = pascaline.fused(%x) : (tensor<16x8x64xf32>) -> tensor<8x16x64xf32> {
  ^bb0(%0: tensor<16x8x64xf32>):
    %1 = pascaline.transpose %0 {perm = array<i64: 1, 0, 2>} : tensor<16x8x64xf32>
    pascaline.yield %1 : tensor<8x16x64xf32>
  }
  return %y : tensor<8x16x64xf32>
}
