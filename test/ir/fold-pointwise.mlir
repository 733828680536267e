// RUN: pascaline-opt %s -canonicalize | FileCheck %s

// CHECK-LABEL: @integer_division_is_total
// CHECK: pascaline.constant dense<[0, -2147483648, 3, -3, 0]>
// CHECK: pascaline.constant dense<[0, 0, 1, -1, 0]>
// CHECK: pascaline.constant dense<[0, 0, 1, 1, 0]>
func.func @integer_division_is_total() -> (tensor<5xi32>, tensor<5xi32>, tensor<5xi32>) {
  %a = pascaline.constant dense<[5, -2147483648, 7, -7, 0]> : tensor<5xi32>
  %b = pascaline.constant dense<[0, -1, 2, 2, -3]> : tensor<5xi32>
  %d = pascaline.div %a, %b : tensor<5xi32>, tensor<5xi32>
  %f = pascaline.fmod %a, %b : tensor<5xi32>, tensor<5xi32>
  %m = pascaline.mod %a, %b : tensor<5xi32>, tensor<5xi32>
  return %d, %f, %m : tensor<5xi32>, tensor<5xi32>, tensor<5xi32>
}

// CHECK-LABEL: @remainder_takes_a_sign
// CHECK: pascaline.constant dense<[2, -1, 1, -2]> : tensor<4xi64>
// CHECK: pascaline.constant dense<[-1, -1, 1, 1]> : tensor<4xi64>
func.func @remainder_takes_a_sign() -> (tensor<4xi64>, tensor<4xi64>) {
  %a = pascaline.constant dense<[-1, -1, 1, 1]> : tensor<4xi64>
  %b = pascaline.constant dense<[3, -3, 3, -3]> : tensor<4xi64>
  %m = pascaline.mod %a, %b : tensor<4xi64>, tensor<4xi64>
  %f = pascaline.fmod %a, %b : tensor<4xi64>, tensor<4xi64>
  return %m, %f : tensor<4xi64>, tensor<4xi64>
}

// CHECK-LABEL: @unsigned_integers_are_unsigned
// CHECK: pascaline.constant dense<[127, 0]> : tensor<2xui8>
// CHECK: pascaline.constant dense<[255, 7]> : tensor<2xui8>
// CHECK: pascaline.constant dense<[2.550000e+02, 0.000000e+00]> : tensor<2xf32>
// CHECK: pascaline.constant dense<[true, false]> : tensor<2xi1>
func.func @unsigned_integers_are_unsigned() -> (tensor<2xui8>, tensor<2xui8>, tensor<2xf32>, tensor<2xi1>) {
  %a = pascaline.constant dense<[255, 0]> : tensor<2xui8>
  %b = pascaline.constant dense<[2, 7]> : tensor<2xui8>
  %d = pascaline.div %a, %b : tensor<2xui8>, tensor<2xui8>
  %m = pascaline.max %a, %b : tensor<2xui8>, tensor<2xui8>
  %f = pascaline.cast %a : tensor<2xui8> -> tensor<2xf32>
  %g = pascaline.compare gt %a, %b : tensor<2xui8>, tensor<2xui8>
  return %d, %m, %f, %g : tensor<2xui8>, tensor<2xui8>, tensor<2xf32>, tensor<2xi1>
}

// CHECK-LABEL: @shifts_by_the_width_give_zero
// CHECK: pascaline.constant dense<[2, -128, 0, 0]> : tensor<4xi8>
// CHECK: pascaline.constant dense<[0, 0, 0, 127]> : tensor<4xi8>
func.func @shifts_by_the_width_give_zero() -> (tensor<4xi8>, tensor<4xi8>) {
  %a = pascaline.constant dense<[1, 1, 1, -1]> : tensor<4xi8>
  %l = pascaline.constant dense<[1, 7, 8, -1]> : tensor<4xi8>
  %r = pascaline.constant dense<[1, 7, 8, 1]> : tensor<4xi8>
  %x = pascaline.shift_left %a, %l : tensor<4xi8>, tensor<4xi8>
  %y = pascaline.shift_right %a, %r : tensor<4xi8>, tensor<4xi8>
  return %x, %y : tensor<4xi8>, tensor<4xi8>
}

// CHECK-LABEL: @integer_powers
// CHECK: pascaline.constant dense<[1024, -8, 1, 0, -1, 0]> : tensor<6xi32>
func.func @integer_powers() -> tensor<6xi32> {
  %a = pascaline.constant dense<[2, -2, 0, 2, -1, 0]> : tensor<6xi32>
  %b = pascaline.constant dense<[10, 3, 0, -1, -3, -1]> : tensor<6xi32>
  %y = pascaline.pow %a, %b : tensor<6xi32>, tensor<6xi32>
  return %y : tensor<6xi32>
}

// CHECK-LABEL: @casts_saturate
// CHECK: pascaline.constant dense<[-128, 127, 0, -1]> : tensor<4xi8>
// CHECK: pascaline.constant dense<[0, 255, 0, 0]> : tensor<4xui8>
// CHECK: pascaline.constant dense<[-9223372036854775808, 9223372036854775807, 0, -1]> : tensor<4xi64>
// CHECK: pascaline.constant dense<true> : tensor<4xi1>
func.func @casts_saturate() -> (tensor<4xi8>, tensor<4xui8>, tensor<4xi64>, tensor<4xi1>) {
  %x = pascaline.constant dense<[-1.0e30, 1.0e30, 0x7FC00000, -1.5]> : tensor<4xf32>
  %a = pascaline.cast %x : tensor<4xf32> -> tensor<4xi8>
  %b = pascaline.cast %x : tensor<4xf32> -> tensor<4xui8>
  %c = pascaline.cast %x : tensor<4xf32> -> tensor<4xi64>
  %d = pascaline.cast %x : tensor<4xf32> -> tensor<4xi1>
  return %a, %b, %c, %d : tensor<4xi8>, tensor<4xui8>, tensor<4xi64>, tensor<4xi1>
}

// CHECK-LABEL: @narrow_casts_keep_low_bits_and_round
// CHECK: pascaline.constant dense<[1, -1]> : tensor<2xi8>
// CHECK: pascaline.constant dense<[0x7C00, 2.048000e+03]> : tensor<2xf16>
func.func @narrow_casts_keep_low_bits_and_round() -> (tensor<2xi8>, tensor<2xf16>) {
  %i = pascaline.constant dense<[257, 511]> : tensor<2xi32>
  %x = pascaline.constant dense<[70000.0, 2049.0]> : tensor<2xf32>
  %a = pascaline.cast %i : tensor<2xi32> -> tensor<2xi8>
  %b = pascaline.cast %x : tensor<2xf32> -> tensor<2xf16>
  return %a, %b : tensor<2xi8>, tensor<2xf16>
}

// CHECK-LABEL: @nan_goes_through
// CHECK: pascaline.constant dense<[0x7FC00000, 0x7FC00000, 2.000000e+00]>
// CHECK: pascaline.constant dense<[0x7FC00000, 0x7FC00000, 1.000000e+00]>
// CHECK: pascaline.constant dense<[0x7FC00000, 1.000000e+00, 1.000000e+00]>
// CHECK: pascaline.constant dense<[false, false, true]>
// CHECK: pascaline.constant dense<true> : tensor<3xi1>
func.func @nan_goes_through() -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xi1>, tensor<3xi1>) {
  %a = pascaline.constant dense<[0x7FC00000, 1.0, 1.0]> : tensor<3xf32>
  %b = pascaline.constant dense<[1.0, 0x7FC00000, 2.0]> : tensor<3xf32>
  %max = pascaline.max %a, %b : tensor<3xf32>, tensor<3xf32>
  %min = pascaline.min %a, %b : tensor<3xf32>, tensor<3xf32>
  %relu = pascaline.relu %a : tensor<3xf32>
  %lt = pascaline.compare lt %a, %b : tensor<3xf32>, tensor<3xf32>
  %ne = pascaline.compare ne %a, %b : tensor<3xf32>, tensor<3xf32>
  return %max, %min, %relu, %lt, %ne : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xi1>, tensor<3xi1>
}

// CHECK-LABEL: @functions
// CHECK: pascaline.constant dense<[0.000000e+00, 5.000000e-01, 1.000000e+00]>
// CHECK: pascaline.constant dense<[-1.000000e+00, 0.000000e+00, 1.000000e+00]>
// CHECK: pascaline.constant dense<[false, false, true]>
func.func @functions() -> (tensor<3xf32>, tensor<3xf32>, tensor<3xi1>) {
  %x = pascaline.constant dense<[0xFF800000, 0.0, 0x7F800000]> : tensor<3xf32>
  %s = pascaline.sigmoid %x : tensor<3xf32>
  %t = pascaline.tanh %x : tensor<3xf32>
  %i = pascaline.is_inf %x {positive = true, negative = false} : tensor<3xf32>
  return %s, %t, %i : tensor<3xf32>, tensor<3xf32>, tensor<3xi1>
}

// CHECK-LABEL: @a_splat_folds_whatever_its_size
// CHECK: pascaline.constant dense<3.000000e+00> : tensor<1000x1000xf32>
func.func @a_splat_folds_whatever_its_size() -> tensor<1000x1000xf32> {
  %a = pascaline.constant dense<1.0> : tensor<1000x1000xf32>
  %b = pascaline.constant dense<2.0> : tensor<f32>
  %y = pascaline.add %a, %b : tensor<1000x1000xf32>, tensor<f32>
  return %y : tensor<1000x1000xf32>
}

// CHECK-LABEL: @broadcast_operands
// CHECK{LITERAL}: pascaline.constant dense<[[11, 21], [12, 22]]> : tensor<2x2xi64>
func.func @broadcast_operands() -> tensor<2x2xi64> {
  %a = pascaline.constant dense<[[1], [2]]> : tensor<2x1xi64>
  %b = pascaline.constant dense<[10, 20]> : tensor<2xi64>
  %y = pascaline.add %a, %b : tensor<2x1xi64>, tensor<2xi64>
  return %y : tensor<2x2xi64>
}

// CHECK-LABEL: @neutral_elements
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[I:.*]]: tensor<4xi32>)
// CHECK: return %[[X]], %[[X]], %[[X]], %[[I]], %[[X]]
func.func @neutral_elements(%x: tensor<4xf32>, %i: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xf32>) {
  %one = pascaline.constant dense<1.0> : tensor<f32>
  %minus_zero = pascaline.constant dense<-0.0> : tensor<f32>
  %zero = pascaline.constant dense<0> : tensor<i32>
  %yes = pascaline.constant dense<true> : tensor<i1>
  %a = pascaline.mul %x, %one : tensor<4xf32>, tensor<f32>
  %b = pascaline.div %x, %one : tensor<4xf32>, tensor<f32>
  %c = pascaline.add %minus_zero, %x : tensor<f32>, tensor<4xf32>
  %d = pascaline.add %i, %zero : tensor<4xi32>, tensor<i32>
  %e = pascaline.select %yes, %x, %one : tensor<i1>, tensor<4xf32>, tensor<f32>
  return %a, %b, %c, %d, %e : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xf32>
}

// x + 0 is not -0 for x = -0; x * 0 is NaN for infinity; x - x likewise.
// CHECK-LABEL: @what_looks_neutral_but_is_not
// CHECK: pascaline.add
// CHECK: pascaline.mul
// CHECK: pascaline.sub
// CHECK: pascaline.mul
func.func @what_looks_neutral_but_is_not(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4xf32>) {
  %zero = pascaline.constant dense<0.0> : tensor<f32>
  %ones = pascaline.constant dense<1.0> : tensor<2x4xf32>
  %a = pascaline.add %x, %zero : tensor<4xf32>, tensor<f32>
  %b = pascaline.mul %x, %zero : tensor<4xf32>, tensor<f32>
  %c = pascaline.sub %x, %x : tensor<4xf32>, tensor<4xf32>
  %d = pascaline.mul %x, %ones : tensor<4xf32>, tensor<2x4xf32>
  return %a, %b, %c, %d : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4xf32>
}
