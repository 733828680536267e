// RUN: pascaline-opt %s | pascaline-opt | FileCheck %s

// CHECK-LABEL: @layouts_are_printed_and_read_back
// CHECK-SAME: tensor<1x3x8x8xf32, #pascaline.layout<order = [0, 2, 3, 1]>>
// CHECK-SAME: tensor<1x7x8x8xf16, #pascaline.layout<order = [0, 1, 2, 3], packed = 1, pack = 4, halo = [0, 0, 1, 1]>>
func.func @layouts_are_printed_and_read_back(
    %nhwc: tensor<1x3x8x8xf32, #pascaline.layout<order = [0, 2, 3, 1]>>,
    %nc4hw4: tensor<1x7x8x8xf16, #pascaline.layout<order = [0, 1, 2, 3],
                    packed = 1, pack = 4, halo = [0, 0, 1, 1]>>) {
  return
}

// CHECK-LABEL: @relayout
// CHECK: pascaline.relayout %{{.*}} : tensor<1x8x4x4xf32> -> tensor<1x8x4x4xf32, #pascaline.layout<order = [0, 2, 3, 1]>>
func.func @relayout(%x: tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32, #pascaline.layout<order = [0, 2, 3, 1]>> {
  %y = pascaline.relayout %x : tensor<1x8x4x4xf32> -> tensor<1x8x4x4xf32, #pascaline.layout<order = [0, 2, 3, 1]>>
  return %y : tensor<1x8x4x4xf32, #pascaline.layout<order = [0, 2, 3, 1]>>
}
