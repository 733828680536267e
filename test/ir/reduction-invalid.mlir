// RUN: pascaline-opt %s -split-input-file -verify-diagnostics

func.func @range(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{axes must be 0 to 1, but one is 2}}
  %y = pascaline.reduce max %x {axes = array<i64: 2>} : tensor<2x3xf32>
  return
}

// -----

func.func @twice(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{axes must differ, but 1 comes twice}}
  %y = pascaline.reduce max %x {axes = array<i64: 1, 1>} : tensor<2x3xf32>
  return
}

// -----

func.func @softmax(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{axis must be 0 to 1, but is -1}}
  %y = pascaline.softmax %x {axis = -1 : i64} : tensor<2x3xf32>
  return
}
