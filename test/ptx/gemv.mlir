// A fully connected layer at batch 1: a warp a row of the weights, 128-bit
// loads four rounds ahead, sums that meet by shuffles, bias and relu in
// registers.
//
// RUN: pascaline-opt %s --pascaline-ptx | sed 's/\\0A/\n/g; s/\\09/ /g' | FileCheck %s

// CHECK: plan.kernel @matmul_add_relu
// CHECK-SAME: 32 lanes, 4 elements a step
// CHECK: .visible .entry matmul_add_relu(
// CHECK-NOT: .local
// CHECK-NOT: ld.global.nc.f32
// CHECK-COUNT-4: ld.global.nc.v4.f32
// CHECK: fma.rn.f32
// CHECK: shfl
// CHECK-NOT: bar.sync
// CHECK: st.global.f32
// CHECK: plan.launch @matmul_add_relu
func.func @main(%x: tensor<1x2048xf32>, %b: tensor<1000xf32>) -> tensor<1x1000xf32> {
  %w = pascaline.constant dense<0.5> : tensor<2048x1000xf32>
  %y = pascaline.fused(%x, %w, %b) : (tensor<1x2048xf32>, tensor<2048x1000xf32>,
      tensor<1000xf32>) -> tensor<1x1000xf32> {
  ^bb0(%0: tensor<1x2048xf32>, %1: tensor<2048x1000xf32>, %2: tensor<1000xf32>):
    %3 = pascaline.matmul %0, %1 : tensor<1x2048xf32>, tensor<2048x1000xf32>
    %4 = pascaline.add %3, %2 : tensor<1x1000xf32>, tensor<1000xf32>
    %5 = pascaline.relu %4 : tensor<1x1000xf32>
    pascaline.yield %5 : tensor<1x1000xf32>
  }
  return %y : tensor<1x1000xf32>
}
