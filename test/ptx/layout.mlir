// A tensor with packed channels and a halo. Who makes it zeroes the halo in 128
// bits, with all threads; a 3x3 convolution then loads 128 bits under each place
// of its window and tests none.
//
// RUN: pascaline-opt %s --pascaline-ptx | sed 's/\\0A/\n/g; s/\\09/ /g' | FileCheck %s

// CHECK: .visible .entry relu(
// CHECK: mov.u32 %{{r[0-9]+}}, %nctaid.x
// CHECK: mov.f32 [[Z:%f[0-9]+]], 0f00000000
// CHECK: st.global.v4.f32 [%{{rd[0-9]+}}], {[[Z]], [[Z]], [[Z]], [[Z]]}
// CHECK: ld.global.nc.v4.f32
// CHECK: .visible .entry conv(
// CHECK-NOT: 0f00000000; @
// CHECK-COUNT-3: @%p{{[0-9]+}} ld.global.nc.v4.f32
// CHECK-NOT: ld.global.nc.f32
// CHECK: fma.rn.f32
func.func @main(%x: tensor<1x64x28x28xf32>) -> tensor<1x64x28x28xf32> {
  %w = pascaline.constant dense<0.5> : tensor<64x64x3x3xf32>
  %a = pascaline.fused(%x) : (tensor<1x64x28x28xf32>) -> tensor<1x64x28x28xf32, #pascaline.layout<order = [0, 1, 2, 3], packed = 1, pack = 4, halo = [0, 0, 1, 1]>> {
  ^bb0(%0: tensor<1x64x28x28xf32>):
    %1 = pascaline.relu %0 : tensor<1x64x28x28xf32>
    %2 = pascaline.relayout %1 : tensor<1x64x28x28xf32> -> tensor<1x64x28x28xf32, #pascaline.layout<order = [0, 1, 2, 3], packed = 1, pack = 4, halo = [0, 0, 1, 1]>>
    pascaline.yield %2 : tensor<1x64x28x28xf32, #pascaline.layout<order = [0, 1, 2, 3], packed = 1, pack = 4, halo = [0, 0, 1, 1]>>
  }
  %y = pascaline.fused(%a, %w) : (tensor<1x64x28x28xf32, #pascaline.layout<order = [0, 1, 2, 3], packed = 1, pack = 4, halo = [0, 0, 1, 1]>>, tensor<64x64x3x3xf32>) -> tensor<1x64x28x28xf32> {
  ^bb0(%0: tensor<1x64x28x28xf32, #pascaline.layout<order = [0, 1, 2, 3], packed = 1, pack = 4, halo = [0, 0, 1, 1]>>, %1: tensor<64x64x3x3xf32>):
    %2 = pascaline.relayout %0 : tensor<1x64x28x28xf32, #pascaline.layout<order = [0, 1, 2, 3], packed = 1, pack = 4, halo = [0, 0, 1, 1]>> -> tensor<1x64x28x28xf32>
    %3 = pascaline.conv %2, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, groups = 1 : i64} : tensor<1x64x28x28xf32>, tensor<64x64x3x3xf32>
    pascaline.yield %3 : tensor<1x64x28x28xf32>
  }
  return %y : tensor<1x64x28x28xf32>
}
