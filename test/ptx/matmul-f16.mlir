// Halves are read four at a time, widened once as they are written to shared
// memory, and multiplied as floats; the sum is rounded as it is stored.
//
// RUN: pascaline-opt %s --pascaline-ptx | sed 's/\\0A/\n/g; s/\\09/ /g' | FileCheck %s

// CHECK: .visible .entry cast_cast_matmul_cast(
// CHECK-NOT: .local
// CHECK: ld.global.nc.v4.{{[bu]}}16
// CHECK: cvt.f32.f16
// CHECK: st.shared.v4.f32
// CHECK: bar.sync
// CHECK-NOT: {{(add|sub|mul|fma|max)\.[a-z.]*f16}}
// CHECK: ld.shared.v4.f32
// CHECK: fma.rn.f32
// CHECK: cvt.rn.f16.f32
// CHECK: st.global.v4.{{[bu]}}16
func.func @main(%x: tensor<256x512xf16>) -> tensor<256x256xf16> {
  %w = pascaline.constant dense<0.5> : tensor<512x256xf16>
  %y = pascaline.fused(%x, %w) : (tensor<256x512xf16>, tensor<512x256xf16>) -> tensor<256x256xf16> {
  ^bb0(%0: tensor<256x512xf16>, %1: tensor<512x256xf16>):
    %2 = pascaline.cast %0 : tensor<256x512xf16> -> tensor<256x512xf32>
    %3 = pascaline.cast %1 : tensor<512x256xf16> -> tensor<512x256xf32>
    %4 = pascaline.matmul %2, %3 : tensor<256x512xf32>, tensor<512x256xf32>
    %5 = pascaline.cast %4 : tensor<256x256xf32> -> tensor<256x256xf16>
    pascaline.yield %5 : tensor<256x256xf16>
  }
  return %y : tensor<256x256xf16>
}
