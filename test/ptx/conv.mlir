// A 3x3 convolution walks a table of one entry a stage; a load outside the
// image is predicated off and gives zero, so padding costs no branch.
//
// RUN: pascaline-opt %s --pascaline-ptx | sed 's/\\0A/\n/g; s/\\09/ /g' | FileCheck %s

// CHECK: plan.kernel @conv_add
// CHECK: .global .align 16 .b8 conv_add_b[
// CHECK: .visible .entry conv_add(
// CHECK-NOT: .local
// CHECK: ld.global.nc.v2.u32
// CHECK: [[LOOP:\$L__BB[0-9]+_[0-9]+]]:
// CHECK: mov.f32 [[X:%f[0-9]+]], 0f00000000; @%p{{[0-9]+}} ld.global.nc.f32 [[X]]
// CHECK: ld.shared.v4.f32
// CHECK: fma.rn.f32
// CHECK: bar.sync
// CHECK: bra [[LOOP]]
// CHECK: st.global.v4.f32
// CHECK: plan.launch @conv_add
func.func @main(%x: tensor<1x64x56x56xf32>, %b: tensor<64x1x1xf32>) -> tensor<1x64x56x56xf32> {
  %w = pascaline.constant dense<0.5> : tensor<64x64x3x3xf32>
  %y = pascaline.fused(%x, %w, %b) : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>,
      tensor<64x1x1xf32>) -> tensor<1x64x56x56xf32> {
  ^bb0(%0: tensor<1x64x56x56xf32>, %1: tensor<64x64x3x3xf32>, %2: tensor<64x1x1xf32>):
    %3 = pascaline.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
        pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, groups = 1 : i64}
        : tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>
    %4 = pascaline.add %3, %2 : tensor<1x64x56x56xf32>, tensor<64x1x1xf32>
    pascaline.yield %4 : tensor<1x64x56x56xf32>
  }
  return %y : tensor<1x64x56x56xf32>
}
