// RUN: pascaline-opt %s -split-input-file -verify-diagnostics

func.func @inner(%a: tensor<4x32xf32>, %b: tensor<16x8xf32>) {
  // expected-error@+1 {{inner dimensions differ: a has 32 columns, b has 16 rows}}
  %y = pascaline.matmul %a, %b : tensor<4x32xf32>, tensor<16x8xf32>
  return
}

// -----

func.func @vector(%a: tensor<32xf32>, %b: tensor<32x8xf32>) {
  // expected-error@+1 {{operands must have rank 2 or more: a has 1, b has 2; reshape a vector to a matrix}}
  %y = pascaline.matmul %a, %b : tensor<32xf32>, tensor<32x8xf32>
  return
}

// -----

func.func @batch(%a: tensor<2x4x32xf32>, %b: tensor<3x32x8xf32>) {
  // expected-error@+1 {{batch dimensions do not broadcast: a has 2, b has 3}}
  %y = pascaline.matmul %a, %b : tensor<2x4x32xf32>, tensor<3x32x8xf32>
  return
}

// -----

func.func @elements(%a: tensor<4x32xf32>, %b: tensor<32x8xf16>) {
  // expected-error@+1 {{element types differ: a has 'f32', b has 'f16'; cast one of them}}
  %y = pascaline.matmul %a, %b : tensor<4x32xf32>, tensor<32x8xf16>
  return
}

// -----

func.func @huge(%a: tensor<65536x1xf32>, %b: tensor<1x65536xf32>) {
  // expected-error@+1 {{a result of 65536x65536 has more than 2147483647 elements; split the tensor, kernels index with 32 bits}}
  %y = pascaline.matmul %a, %b : tensor<65536x1xf32>, tensor<1x65536xf32>
  return
}

// -----

func.func @dynamic(%a: tensor<?x32xf32>, %b: tensor<32x8xf32>) {
  // expected-error@+1 {{operand #0 must be a tensor of static shape, but is 'tensor<?x32xf32>'}}
  %y = pascaline.matmul %a, %b : tensor<?x32xf32>, tensor<32x8xf32>
  return
}

// -----

func.func @attributes(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error@+1 {{requires attribute 'dilations'}}
  %y = pascaline.conv %x, %w : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>
  return
}

// -----

func.func @channels(%x: tensor<1x3x8xf32>, %w: tensor<4x2x3xf32>) {
  // expected-error@+1 {{channels differ: x has 3 in 1 groups, w takes 2 a group}}
  %y = pascaline.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_begin = array<i64: 0>,
      pads_end = array<i64: 0>, groups = 1 : i64} : tensor<1x3x8xf32>, tensor<4x2x3xf32>
  return
}

// -----

func.func @groups(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) {
  // expected-error@+1 {{groups must divide the channels: 0 groups, x has 3 channels, w makes 4}}
  %y = pascaline.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_begin = array<i64: 0>,
      pads_end = array<i64: 0>, groups = 0 : i64} : tensor<1x3x8xf32>, tensor<4x3x3xf32>
  return
}

// -----

func.func @rank(%x: tensor<3x8xf32>, %w: tensor<4x3xf32>) {
  // expected-error@+1 {{x must be [n, c, spatial...] with 1 to 3 spatial dimensions, but has rank 2}}
  %y = pascaline.conv %x, %w {strides = array<i64>, dilations = array<i64>, pads_begin = array<i64>,
      pads_end = array<i64>, groups = 1 : i64} : tensor<3x8xf32>, tensor<4x3xf32>
  return
}

// -----

func.func @sizes(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) {
  // expected-error@+1 {{strides must have a value for each of the 1 spatial dimensions, but has 2}}
  %y = pascaline.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1>, pads_begin = array<i64: 0>,
      pads_end = array<i64: 0>, groups = 1 : i64} : tensor<1x3x8xf32>, tensor<4x3x3xf32>
  return
}

// -----

func.func @window(%x: tensor<1x3x8xf32>) {
  // expected-error@+1 {{spatial dimension 0: a window of 9 with stride 1 and dilation 1 does not fit into 8 elements padded by 0 and 0}}
  %y = pascaline.max_pool %x {window = array<i64: 9>, strides = array<i64: 1>, dilations = array<i64: 1>,
      pads_begin = array<i64: 0>, pads_end = array<i64: 0>} : tensor<1x3x8xf32>
  return
}

// -----

// The sum of these would overflow 64 bits.
func.func @overflow(%x: tensor<1x3x8xf32>) {
  // expected-error@+1 {{spatial dimension 0: a window of 9223372036854775807 with stride 1 and dilation 9223372036854775807 does not fit into 8 elements padded by 9223372036854775807 and 1}}
  %y = pascaline.max_pool %x {window = array<i64: 9223372036854775807>, strides = array<i64: 1>, dilations = array<i64: 9223372036854775807>,
      pads_begin = array<i64: 9223372036854775807>, pads_end = array<i64: 1>} : tensor<1x3x8xf32>
  return
}

// -----

func.func @counted(%x: tensor<1x3x8xf32>) {
  // expected-error@+1 {{counted_end must be 0 to the padding 1, but is 2}}
  %y = pascaline.avg_pool %x {window = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 1>,
      pads_begin = array<i64: 1>, pads_end = array<i64: 1>, counted_begin = array<i64: 0>, counted_end = array<i64: 2>} : tensor<1x3x8xf32>
  return
}
