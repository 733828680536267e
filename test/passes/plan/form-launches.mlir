// RUN: pascaline-opt %s -split-input-file -verify-diagnostics --pascaline-form-launches | FileCheck %s

// Two groups that read the same share a kernel; a third does not. The value
// between them lies in the arena, the last one in the caller's buffer.
// CHECK:       plan.kernel @relu attributes {block = array<i64: {{.*}}>
// CHECK:       plan.kernel @neg
// CHECK-NOT:   plan.kernel
// CHECK-LABEL: plan.program @main
// CHECK-SAME:    input_names = ["x"]
// CHECK-SAME:    output_names = ["y"]
// CHECK:         %[[X:.*]] = plan.buffer input {bytes = 4000 : i64, index = 0 : i64}
// CHECK:         %[[A:.*]] = plan.buffer arena {bytes = 4000 : i64}
// CHECK:         plan.launch @relu(%[[X]], %[[A]])
// CHECK-SAME:      nodes = ["first"]
// CHECK:         %[[B:.*]] = plan.buffer arena {bytes = 4000 : i64}
// CHECK:         plan.launch @neg(%[[A]], %[[B]])
// CHECK:         %[[Y:.*]] = plan.buffer output {bytes = 4000 : i64, index = 0 : i64}
// CHECK:         plan.launch @relu(%[[B]], %[[Y]])
// CHECK:         plan.return %[[Y]]
func.func @main(%x: tensor<1000xf32> {pascaline.name = "x"}) -> (tensor<1000xf32> {pascaline.name = "y"}) {
  %a = pascaline.fused(%x) : (tensor<1000xf32>) -> tensor<1000xf32> {
  ^bb0(%0: tensor<1000xf32>):
    %1 = pascaline.relu %0 : tensor<1000xf32> loc("first")
    pascaline.yield %1 : tensor<1000xf32>
  }
  %b = pascaline.fused(%a) : (tensor<1000xf32>) -> tensor<1000xf32> {
  ^bb0(%0: tensor<1000xf32>):
    %1 = pascaline.neg %0 : tensor<1000xf32> loc("second")
    pascaline.yield %1 : tensor<1000xf32>
  }
  %y = pascaline.fused(%b) : (tensor<1000xf32>) -> tensor<1000xf32> {
  ^bb0(%0: tensor<1000xf32>):
    %1 = pascaline.relu %0 : tensor<1000xf32> loc("third")
    pascaline.yield %1 : tensor<1000xf32>
  }
  return %y : tensor<1000xf32>
}

// -----

// What depends on constants alone is computed once, when the model is loaded.
// A reshape is no launch: both names have the same bytes.
// CHECK-LABEL: plan.program @main
// CHECK:         %[[T:.*]] = plan.buffer init {bytes = 12 : i64}
// CHECK:         %[[W:.*]] = plan.buffer weights
// CHECK:         plan.launch @{{.*}}(%[[W]], %[[T]]) {{.*}}init
// CHECK:         plan.launch @{{.*}}(%{{.*}}, %[[T]], %[[Y:.*]])
// CHECK-NOT:     init
// CHECK:         plan.return %[[Y]]
func.func @main(%x: tensor<1x3xf32>) -> tensor<3x1xf32> {
  %w = pascaline.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %t = pascaline.fused(%w) : (tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%0: tensor<3xf32>):
    %1 = pascaline.exp %0 : tensor<3xf32>
    pascaline.yield %1 : tensor<3xf32>
  }
  %flat = pascaline.reshape %x : tensor<1x3xf32> -> tensor<3xf32>
  %y = pascaline.fused(%flat, %t) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%0: tensor<3xf32>, %1: tensor<3xf32>):
    %2 = pascaline.add %0, %1 : tensor<3xf32>, tensor<3xf32>
    pascaline.yield %2 : tensor<3xf32>
  }
  %column = pascaline.reshape %y : tensor<3xf32> -> tensor<3x1xf32>
  return %column : tensor<3x1xf32>
}

// -----

// A result without elements needs no launch; an input that is returned, and a
// value returned twice, need no copy of ours.
// CHECK-LABEL: plan.program @main
// CHECK:         %[[X:.*]] = plan.buffer input
// CHECK:         %[[EMPTY:.*]] = plan.buffer output {bytes = 0 : i64, index = 1 : i64}
// CHECK-NOT:     plan.launch
// CHECK:         plan.return %[[X]], %[[EMPTY]], %[[EMPTY]]
func.func @main(%x: tensor<4xf32>, %e: tensor<0xf32>) -> (tensor<4xf32>, tensor<0xf32>, tensor<0xf32>) {
  %y = pascaline.fused(%e) : (tensor<0xf32>) -> tensor<0xf32> {
  ^bb0(%0: tensor<0xf32>):
    %1 = pascaline.neg %0 : tensor<0xf32>
    pascaline.yield %1 : tensor<0xf32>
  }
  return %x, %y, %y : tensor<4xf32>, tensor<0xf32>, tensor<0xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'pascaline.relu' op is not in a group; run the graph passes first}}
  %y = pascaline.relu %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A concat along the outermost dimension that has an extent only joins its
// operands; one further in does not. What a pointwise kernel reads in step with
// its result may lie in the same place. What the model's own order needs: two
// values of 256 bytes and what is made of them.
// CHECK-LABEL: plan.program @main
// CHECK-SAME:    onnx_order_bytes = 1024
// CHECK:         nodes = ["negate"]
// CHECK-SAME:    replaceable = array<i32: 0, 1>
// CHECK-SAME:    types = [tensor<1x2x32xf32>, tensor<1x2x32xf32>]
// CHECK:         nodes = ["negate"]
// CHECK:         joins, nodes = ["outer"]
// CHECK-SAME:    types = [tensor<1x2x32xf32>, tensor<1x2x32xf32>, tensor<1x4x32xf32>]
// CHECK-NOT:     joins
func.func @main(%x: tensor<1x2x32xf32>) -> (tensor<1x2x128xf32>) {
  %a = pascaline.fused(%x) : (tensor<1x2x32xf32>) -> tensor<1x2x32xf32> {
  ^bb0(%0: tensor<1x2x32xf32>):
    %1 = pascaline.neg %0 : tensor<1x2x32xf32> loc("negate")
    pascaline.yield %1 : tensor<1x2x32xf32>
  }
  %b = pascaline.fused(%a) : (tensor<1x2x32xf32>) -> tensor<1x2x32xf32> {
  ^bb0(%0: tensor<1x2x32xf32>):
    %1 = pascaline.neg %0 : tensor<1x2x32xf32> loc("negate")
    pascaline.yield %1 : tensor<1x2x32xf32>
  }
  %c = pascaline.fused(%a, %b) : (tensor<1x2x32xf32>, tensor<1x2x32xf32>) -> tensor<1x4x32xf32> {
  ^bb0(%0: tensor<1x2x32xf32>, %1: tensor<1x2x32xf32>):
    %2 = pascaline.concat %0, %1 {axis = 1 : i64} : tensor<1x2x32xf32>, tensor<1x2x32xf32> loc("outer")
    pascaline.yield %2 : tensor<1x4x32xf32>
  }
  %flat = pascaline.reshape %c : tensor<1x4x32xf32> -> tensor<1x2x64xf32>
  %d = pascaline.fused(%flat) : (tensor<1x2x64xf32>) -> tensor<1x2x64xf32> {
  ^bb0(%0: tensor<1x2x64xf32>):
    %1 = pascaline.neg %0 : tensor<1x2x64xf32>
    pascaline.yield %1 : tensor<1x2x64xf32>
  }
  %e = pascaline.fused(%d, %flat) : (tensor<1x2x64xf32>, tensor<1x2x64xf32>) -> tensor<1x2x128xf32> {
  ^bb0(%0: tensor<1x2x64xf32>, %1: tensor<1x2x64xf32>):
    %2 = pascaline.concat %0, %1 {axis = 2 : i64} : tensor<1x2x64xf32>, tensor<1x2x64xf32> loc("inner")
    pascaline.yield %2 : tensor<1x2x128xf32>
  }
  return %e : tensor<1x2x128xf32>
}
