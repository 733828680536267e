// RUN: pascaline-opt %s -split-input-file -verify-diagnostics

func.func @two_anchors(%x: tensor<4x4xf32>) {
  // expected-error@+1 {{has two anchors, pascaline.matmul and pascaline.softmax; a kernel is made of one}}
  %y = pascaline.fused(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%0: tensor<4x4xf32>):
    %1 = pascaline.matmul %0, %0 : tensor<4x4xf32>, tensor<4x4xf32>
    // expected-note@+1 {{the second is here}}
    %2 = pascaline.softmax %1 {axis = 1 : i64} : tensor<4x4xf32>
    pascaline.yield %2 : tensor<4x4xf32>
  }
  return
}

// -----

func.func @inputs(%x: tensor<4x4xf32>) {
  // expected-error@+1 {{has 1 inputs, but 2 block arguments}}
  %y = pascaline.fused(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%0: tensor<4x4xf32>, %1: tensor<4x4xf32>):
    pascaline.yield %0 : tensor<4x4xf32>
  }
  return
}

// -----

func.func @argument(%x: tensor<4x4xf32>) {
  // expected-error@+1 {{number 0 of its inputs is 'tensor<4x4xf32>', but that of its block arguments is 'tensor<4xf32>'}}
  %y = pascaline.fused(%x) : (tensor<4x4xf32>) -> tensor<4xf32> {
  ^bb0(%0: tensor<4xf32>):
    pascaline.yield %0 : tensor<4xf32>
  }
  return
}

// -----

func.func @yield(%x: tensor<4x4xf32>) {
  // expected-error@+1 {{number 0 of its results is 'tensor<4xf32>', but that of its yielded values is 'tensor<4x4xf32>'}}
  %y = pascaline.fused(%x) : (tensor<4x4xf32>) -> tensor<4xf32> {
  ^bb0(%0: tensor<4x4xf32>):
    pascaline.yield %0 : tensor<4x4xf32>
  }
  return
}

// -----

func.func @nothing() {
  // expected-error@+1 {{yields nothing, so it would do nothing}}
  pascaline.fused() : () -> () {
  }
  return
}

// -----

func.func @nested(%x: tensor<4xf32>) {
  // expected-error@+1 {{holds pascaline.fused, which is no anchor, pointwise op or view}}
  %y = pascaline.fused(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%0: tensor<4xf32>):
    %1 = pascaline.fused(%0) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%2: tensor<4xf32>):
      pascaline.yield %2 : tensor<4xf32>
    }
    pascaline.yield %1 : tensor<4xf32>
  }
  return
}

// -----

func.func @constant(%x: tensor<2xf32>) {
  // expected-error@+1 {{holds a constant of 2 with different elements; make it an input}}
  %y = pascaline.fused(%x) : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%0: tensor<2xf32>):
    %1 = pascaline.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %2 = pascaline.add %0, %1 : tensor<2xf32>, tensor<2xf32>
    pascaline.yield %2 : tensor<2xf32>
  }
  return
}

// -----

func.func @counts(%x: tensor<4x2xf32>, %b: tensor<2xf32>) {
  // expected-error@+1 {{yields 2, but its anchor makes 4x4}}
  %y = pascaline.fused(%x, %b) : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%0: tensor<4x2xf32>, %1: tensor<2xf32>):
    %2 = pascaline.matmul %0, %0 {transpose_b} : tensor<4x2xf32>, tensor<4x2xf32>
    pascaline.yield %1 : tensor<2xf32>
  }
  return
}
