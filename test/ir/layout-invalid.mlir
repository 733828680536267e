// RUN: pascaline-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{layout orders 2 dimensions, the tensor has 3}}
func.func @order(%x: tensor<1x2x3xf32, #pascaline.layout<order = [0, 1]>>)

// -----

// expected-error@+1 {{layout order must name each of the dimensions 0 to 1 once, but 1 comes twice}}
func.func @twice(%x: tensor<1x2xf32, #pascaline.layout<order = [1, 1]>>)

// -----

// expected-error@+1 {{layout order must name each of the dimensions 0 to 1 once, but 2 is none}}
func.func @none(%x: tensor<1x2xf32, #pascaline.layout<order = [0, 2]>>)

// -----

// expected-error@+1 {{layout pack must be 0 to 64, but is 65}}
func.func @pack(%x: tensor<1x2xf32, #pascaline.layout<order = [0, 1], packed = 1, pack = 65>>)

// -----

// expected-error@+1 {{layout packs dimension 2 by 4, the tensor has rank 2}}
func.func @packed(%x: tensor<1x2xf32, #pascaline.layout<order = [0, 1], packed = 2, pack = 4>>)

// -----

// expected-error@+1 {{layout has a halo for 1 dimensions, the tensor has 2}}
func.func @halo(%x: tensor<1x2xf32, #pascaline.layout<order = [0, 1], halo = [1]>>)

// -----

// expected-error@+1 {{layout halo must be 0 to 32767, but is 40000}}
func.func @deep(%x: tensor<1x2xf32, #pascaline.layout<order = [0, 1], halo = [0, 40000]>>)

// -----

// expected-error@+1 {{layout packs dimension 1 and gives it a halo of 2; a packed dimension has none}}
func.func @both(%x: tensor<1x2xf32, #pascaline.layout<order = [0, 1], packed = 1, pack = 4, halo = [0, 2]>>)

// -----

func.func @relayout_shape(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{shapes differ: x is 2x3, the result 3x2}}
  %y = pascaline.relayout %x : tensor<2x3xf32> -> tensor<3x2xf32>
  return
}

// -----

func.func @relayout_element(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{element types differ: x has 'f32', the result 'f16'}}
  %y = pascaline.relayout %x : tensor<2x3xf32> -> tensor<2x3xf16>
  return
}
