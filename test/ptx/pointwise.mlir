// A pointwise group moves 128 bits a thread; a broadcast operand is loaded once.
// The result may lie in the place of the operand of its shape, so that one is
// not loaded as read-only.
//
// RUN: pascaline-opt %s --pascaline-ptx | sed 's/\\0A/\n/g; s/\\09/ /g' | FileCheck %s

// CHECK: plan.kernel @add_relu
// CHECK-SAME: block = array<i64: 256, 1, 1>
// CHECK: .visible .entry add_relu(
// CHECK-NOT: .local
// CHECK-DAG: ld.global.v4.f32
// CHECK-DAG: ld.global.nc.v4.f32
// CHECK-COUNT-4: add.rn.f32
// CHECK: st.global.v4.f32
// CHECK-NOT: st.global
func.func @main(%x: tensor<8x512xf32>, %b: tensor<512xf32>) -> tensor<8x512xf32> {
  %y = pascaline.fused(%x, %b) : (tensor<8x512xf32>, tensor<512xf32>) -> tensor<8x512xf32> {
  ^bb0(%0: tensor<8x512xf32>, %1: tensor<512xf32>):
    %2 = pascaline.add %0, %1 : tensor<8x512xf32>, tensor<512xf32>
    %3 = pascaline.relu %2 : tensor<8x512xf32>
    pascaline.yield %3 : tensor<8x512xf32>
  }
  return %y : tensor<8x512xf32>
}
