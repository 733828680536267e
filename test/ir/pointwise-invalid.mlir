// RUN: pascaline-opt %s -split-input-file -verify-diagnostics

func.func @shapes(%a: tensor<2x3xf32>, %b: tensor<2xf32>) {
  // expected-error@+1 {{shapes do not broadcast: 2x3 and 2}}
  %y = pascaline.add %a, %b : tensor<2x3xf32>, tensor<2xf32>
  return
}

// -----

func.func @elements(%a: tensor<2xf32>, %b: tensor<2xi32>) {
  // expected-error@+1 {{element types differ: 'f32' and 'i32'; cast one of them}}
  %y = pascaline.mul %a, %b : tensor<2xf32>, tensor<2xi32>
  return
}

// -----

func.func @wide(%a: tensor<65536x1xf32>, %b: tensor<65536xf32>) {
  // expected-error@+1 {{a result of 65536x65536 has more than 2147483647 elements; split the tensor, kernels index with 32 bits}}
  %y = pascaline.mul %a, %b : tensor<65536x1xf32>, tensor<65536xf32>
  return
}

// -----

func.func @floats_alone(%a: tensor<2xi32>) {
  // expected-error@+1 {{operand #0 must be statically shaped tensor of float values, but got 'tensor<2xi32>'}}
  %y = pascaline.sqrt %a : tensor<2xi32>
  return
}
