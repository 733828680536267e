// RUN: pascaline-opt %s -split-input-file -verify-diagnostics

func.func @perm(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{perm must name each of the dimensions 0 to 1 once, but 1 comes twice}}
  %y = pascaline.transpose %x {perm = array<i64: 1, 1>} : tensor<2x3xf32>
  return
}

// -----

func.func @perm_rank(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{perm must have a value for each of the 2 dimensions, but has 1}}
  %y = pascaline.transpose %x {perm = array<i64: 0>} : tensor<2x3xf32>
  return
}

// -----

func.func @reshape(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{element counts differ: x is 2x3, the result 5}}
  %y = pascaline.reshape %x : tensor<2x3xf32> -> tensor<5xf32>
  return
}

// -----

func.func @reshape_element(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{element types differ: x has 'f32', the result 'i32'}}
  %y = pascaline.reshape %x : tensor<2x3xf32> -> tensor<6xi32>
  return
}

// -----

func.func @broadcast(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{2x3 does not broadcast to 2x4}}
  %y = pascaline.broadcast %x : tensor<2x3xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @slice(%x: tensor<5xf32>) {
  // expected-error@+1 {{dimension 0: 3 elements from 1 in steps of 2 leave x's 5}}
  %y = pascaline.slice %x {starts = array<i64: 1>, steps = array<i64: 2>, sizes = array<i64: 3>} : tensor<5xf32>
  return
}

// -----

func.func @slice_overflow(%x: tensor<5xf32>) {
  // expected-error@+1 {{dimension 0: 5 elements from 4 in steps of -9223372036854775808 leave x's 5}}
  %y = pascaline.slice %x {starts = array<i64: 4>, steps = array<i64: -9223372036854775808>, sizes = array<i64: 5>} : tensor<5xf32>
  return
}

// -----

func.func @concat(%x: tensor<2x3xf32>, %z: tensor<4x4xf32>) {
  // expected-error@+1 {{inputs must differ in dimension 1 alone, but the first is 2x3, number 1 is 4x4}}
  %y = pascaline.concat %x, %z {axis = 1 : i64} : tensor<2x3xf32>, tensor<4x4xf32>
  return
}

// -----

func.func @axis(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{axis must be 0 to 1, but is 2}}
  %y = pascaline.concat %x {axis = 2 : i64} : tensor<2x3xf32>
  return
}

// -----

func.func @fill(%x: tensor<2xf32>, %fill: tensor<1xf32>) {
  // expected-error@+1 {{fill must be a 'f32' of rank 0, but is 'tensor<1xf32>'}}
  %y = pascaline.pad constant %x, %fill {low = array<i64: 1>, high = array<i64: 1>} : tensor<2xf32>, tensor<1xf32>
  return
}

// -----

func.func @negative(%x: tensor<2xf32>, %fill: tensor<f32>) {
  // expected-error@+1 {{dimension 0: padding must be 0 to 2147483647, but is -1 and 1}}
  %y = pascaline.pad constant %x, %fill {low = array<i64: -1>, high = array<i64: 1>} : tensor<2xf32>, tensor<f32>
  return
}

// -----

func.func @reflect(%x: tensor<0xf32>, %fill: tensor<f32>) {
  // expected-error@+1 {{dimension 0: reflect padding repeats elements, but x has none}}
  %y = pascaline.pad reflect %x, %fill {low = array<i64: 2>, high = array<i64: 1>} : tensor<0xf32>, tensor<f32>
  return
}

// -----

func.func @gather(%x: tensor<0x3xf32>, %i: tensor<2xi64>) {
  // expected-error@+1 {{x has no element along axis 0, so there is nothing to take}}
  %y = pascaline.gather %x, %i {axis = 0 : i64} : tensor<0x3xf32>, tensor<2xi64>
  return
}
