// RUN: pascaline-opt %s -pascaline-assign-layouts | FileCheck %s
// RUN: pascaline-opt %s -pascaline-assign-layouts --decisions -o /dev/null 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: pascaline-opt %s -pascaline-assign-layouts -pascaline-form-launches | FileCheck %s --check-prefix=NODES

// Each element under a window of packed channels is 128 bits wide wherever it
// lies, and the halo makes its test go.
// CHECK-LABEL: @windows_read_packed_channels_with_a_halo
// CHECK: -> tensor<1x256x60x60xf32, #pascaline.layout<order = [0, 1, 2, 3], packed = 1, pack = 4, halo = [0, 0, 1, 1]>> {
// CHECK: %[[R:.*]] = pascaline.relu
// CHECK: pascaline.relayout %[[R]] : tensor<1x256x60x60xf32> -> tensor<1x256x60x60xf32, #pascaline.layout<order = [0, 1, 2, 3], packed = 1, pack = 4, halo = [0, 0, 1, 1]>>
// CHECK: ^bb0(%[[A:.*]]: tensor<1x256x60x60xf32, #pascaline.layout<order = [0, 1, 2, 3], packed = 1, pack = 4, halo = [0, 0, 1, 1]>>, %{{.*}}: tensor<256x256x3x3xf32>):
// CHECK: %[[P:.*]] = pascaline.relayout %[[A]] : {{.*}} -> tensor<1x256x60x60xf32>
// CHECK: pascaline.conv %[[P]],
// Who reads a layout does not compute the node that made it.
// NODES-LABEL: plan.program @windows_read
// NODES: plan.launch {{.*}}nodes = ["a_conv"]
// NODES: plan.launch {{.*}}nodes = ["b_conv"]
// SAID-DAG: layout: "a_conv": channels packed by 4, halo 1x1: its readers and its halo take {{[0-9]+}} % of the cycles of row-major, by the cost model
func.func @windows_read_packed_channels_with_a_halo(%x: tensor<1x256x60x60xf32>) -> tensor<1x256x60x60xf32> {
  %u = pascaline.constant dense<0.5> : tensor<256x256x1x1xf32>
  %v = pascaline.constant dense<0.5> : tensor<256x256x3x3xf32>
  %a = pascaline.fused(%x, %u) : (tensor<1x256x60x60xf32>, tensor<256x256x1x1xf32>) -> tensor<1x256x60x60xf32> {
  ^bb0(%0: tensor<1x256x60x60xf32>, %1: tensor<256x256x1x1xf32>):
    %2 = pascaline.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, groups = 1 : i64} : tensor<1x256x60x60xf32>, tensor<256x256x1x1xf32> loc("a_conv")
    %3 = pascaline.relu %2 : tensor<1x256x60x60xf32>
    pascaline.yield %3 : tensor<1x256x60x60xf32>
  }
  %b = pascaline.fused(%a, %v) : (tensor<1x256x60x60xf32>, tensor<256x256x3x3xf32>) -> tensor<1x256x60x60xf32> {
  ^bb0(%0: tensor<1x256x60x60xf32> loc("a_conv"), %1: tensor<256x256x3x3xf32>):
    %2 = pascaline.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, groups = 1 : i64} : tensor<1x256x60x60xf32>, tensor<256x256x3x3xf32> loc("b_conv")
    %3 = pascaline.relu %2 : tensor<1x256x60x60xf32>
    pascaline.yield %3 : tensor<1x256x60x60xf32>
  }
  return %b : tensor<1x256x60x60xf32>
}

// What it takes to write the zeros must come back.
// CHECK-LABEL: @small_maps_do_not_pay_a_halo
// CHECK: -> tensor<1x128x14x14xf32, #pascaline.layout<order = [0, 1, 2, 3], packed = 1, pack = 4>> {
// CHECK: %[[R:.*]] = pascaline.relu
// CHECK: pascaline.relayout %[[R]] : tensor<1x128x14x14xf32> -> tensor<1x128x14x14xf32, #pascaline.layout<order = [0, 1, 2, 3], packed = 1, pack = 4>>
// CHECK: ^bb0(%[[A:.*]]: tensor<1x128x14x14xf32, #pascaline.layout<order = [0, 1, 2, 3], packed = 1, pack = 4>>, %{{.*}}: tensor<128x128x3x3xf32>):
// CHECK: %[[P:.*]] = pascaline.relayout %[[A]] : {{.*}} -> tensor<1x128x14x14xf32>
// CHECK: pascaline.conv %[[P]],
// SAID-DAG: layout: "k_conv": channels packed by 4: its readers take {{[0-9]+}} % of the cycles of row-major, by the cost model
func.func @small_maps_do_not_pay_a_halo(%x: tensor<1x128x14x14xf32>) -> tensor<1x128x14x14xf32> {
  %u = pascaline.constant dense<0.5> : tensor<128x128x1x1xf32>
  %v = pascaline.constant dense<0.5> : tensor<128x128x3x3xf32>
  %k = pascaline.fused(%x, %u) : (tensor<1x128x14x14xf32>, tensor<128x128x1x1xf32>) -> tensor<1x128x14x14xf32> {
  ^bb0(%0: tensor<1x128x14x14xf32>, %1: tensor<128x128x1x1xf32>):
    %2 = pascaline.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, groups = 1 : i64} : tensor<1x128x14x14xf32>, tensor<128x128x1x1xf32> loc("k_conv")
    %3 = pascaline.relu %2 : tensor<1x128x14x14xf32>
    pascaline.yield %3 : tensor<1x128x14x14xf32>
  }
  %b = pascaline.fused(%k, %v) : (tensor<1x128x14x14xf32>, tensor<128x128x3x3xf32>) -> tensor<1x128x14x14xf32> {
  ^bb0(%0: tensor<1x128x14x14xf32>, %1: tensor<128x128x3x3xf32>):
    %2 = pascaline.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, groups = 1 : i64} : tensor<1x128x14x14xf32>, tensor<128x128x3x3xf32> loc("b_conv")
    %3 = pascaline.relu %2 : tensor<1x128x14x14xf32>
    pascaline.yield %3 : tensor<1x128x14x14xf32>
  }
  return %b : tensor<1x128x14x14xf32>
}

// A pool's operand lies as its result does: its threads walk both in one order.
// CHECK-LABEL: @a_pool_keeps_the_kind
// CHECK: -> tensor<1x512x30x30xf32, #pascaline.layout<order = [0, 1, 2, 3], packed = 1, pack = 4>> {
// CHECK: -> tensor<1x512x15x15xf32, #pascaline.layout<order = [0, 1, 2, 3], packed = 1, pack = 4, halo = [0, 0, 1, 1]>> {
// CHECK: pascaline.max_pool
// SAID-DAG: layout: "l_conv": channels packed by 4: as what is made of it, element by element
func.func @a_pool_keeps_the_kind(%x: tensor<1x512x30x30xf32>) -> tensor<1x512x15x15xf32> {
  %w = pascaline.constant dense<0.5> : tensor<512x512x3x3xf32>
  %l = pascaline.fused(%x, %w) : (tensor<1x512x30x30xf32>, tensor<512x512x3x3xf32>) -> tensor<1x512x30x30xf32> {
  ^bb0(%0: tensor<1x512x30x30xf32>, %1: tensor<512x512x3x3xf32>):
    %2 = pascaline.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, groups = 1 : i64} : tensor<1x512x30x30xf32>, tensor<512x512x3x3xf32> loc("l_conv")
    pascaline.yield %2 : tensor<1x512x30x30xf32>
  }
  %p = pascaline.fused(%l) : (tensor<1x512x30x30xf32>) -> tensor<1x512x15x15xf32> {
  ^bb0(%0: tensor<1x512x30x30xf32>):
    %1 = pascaline.max_pool %0 {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : tensor<1x512x30x30xf32>
    pascaline.yield %1 : tensor<1x512x15x15xf32>
  }
  %q = pascaline.fused(%p, %w) : (tensor<1x512x15x15xf32>, tensor<512x512x3x3xf32>) -> tensor<1x512x15x15xf32> {
  ^bb0(%0: tensor<1x512x15x15xf32>, %1: tensor<512x512x3x3xf32>):
    %2 = pascaline.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, groups = 1 : i64} : tensor<1x512x15x15xf32>, tensor<512x512x3x3xf32> loc("q_conv")
    pascaline.yield %2 : tensor<1x512x15x15xf32>
  }
  return %q : tensor<1x512x15x15xf32>
}

// Rows of pixels suit it better.
// CHECK-LABEL: @a_reader_of_single_pixels_is_left_alone
// CHECK-NOT: pascaline.layout
// SAID-DAG: layout: "c_conv": row-major: channels packed by 4 would take {{[0-9]+}} % of its cycles, by the cost model
func.func @a_reader_of_single_pixels_is_left_alone(%x: tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32> {
  %u = pascaline.constant dense<0.5> : tensor<64x64x1x1xf32>
  %v = pascaline.constant dense<0.5> : tensor<64x64x1x1xf32>
  %c = pascaline.fused(%x, %u) : (tensor<1x64x56x56xf32>, tensor<64x64x1x1xf32>) -> tensor<1x64x56x56xf32> {
  ^bb0(%0: tensor<1x64x56x56xf32>, %1: tensor<64x64x1x1xf32>):
    %2 = pascaline.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, groups = 1 : i64} : tensor<1x64x56x56xf32>, tensor<64x64x1x1xf32> loc("c_conv")
    %3 = pascaline.relu %2 : tensor<1x64x56x56xf32>
    pascaline.yield %3 : tensor<1x64x56x56xf32>
  }
  %d = pascaline.fused(%c, %v) : (tensor<1x64x56x56xf32>, tensor<64x64x1x1xf32>) -> tensor<1x64x56x56xf32> {
  ^bb0(%0: tensor<1x64x56x56xf32>, %1: tensor<64x64x1x1xf32>):
    %2 = pascaline.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, groups = 1 : i64} : tensor<1x64x56x56xf32>, tensor<64x64x1x1xf32> loc("d_conv")
    %3 = pascaline.relu %2 : tensor<1x64x56x56xf32>
    pascaline.yield %3 : tensor<1x64x56x56xf32>
  }
  return %d : tensor<1x64x56x56xf32>
}

// Others than groups know plain tensors alone.
// CHECK-LABEL: @what_the_model_returns_is_left_alone
// CHECK-NOT: pascaline.layout
func.func @what_the_model_returns_is_left_alone(%x: tensor<1x64x56x56xf32>) -> (tensor<1x64x56x56xf32>, tensor<1x64x56x56xf32>) {
  %u = pascaline.constant dense<0.5> : tensor<64x64x1x1xf32>
  %v = pascaline.constant dense<0.5> : tensor<64x64x3x3xf32>
  %e = pascaline.fused(%x, %u) : (tensor<1x64x56x56xf32>, tensor<64x64x1x1xf32>) -> tensor<1x64x56x56xf32> {
  ^bb0(%0: tensor<1x64x56x56xf32>, %1: tensor<64x64x1x1xf32>):
    %2 = pascaline.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, groups = 1 : i64} : tensor<1x64x56x56xf32>, tensor<64x64x1x1xf32> loc("e_conv")
    %3 = pascaline.relu %2 : tensor<1x64x56x56xf32>
    pascaline.yield %3 : tensor<1x64x56x56xf32>
  }
  %f = pascaline.fused(%e, %v) : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x56x56xf32> {
  ^bb0(%0: tensor<1x64x56x56xf32>, %1: tensor<64x64x3x3xf32>):
    %2 = pascaline.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, groups = 1 : i64} : tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32> loc("f_conv")
    %3 = pascaline.relu %2 : tensor<1x64x56x56xf32>
    pascaline.yield %3 : tensor<1x64x56x56xf32>
  }
  return %e, %f : tensor<1x64x56x56xf32>, tensor<1x64x56x56xf32>
}

// CHECK-LABEL: @what_is_reshaped_is_left_alone
// CHECK-NOT: pascaline.layout
func.func @what_is_reshaped_is_left_alone(%x: tensor<1x64x56x56xf32>) -> (tensor<1x64x56x56xf32>, tensor<200704xf32>) {
  %u = pascaline.constant dense<0.5> : tensor<64x64x1x1xf32>
  %v = pascaline.constant dense<0.5> : tensor<64x64x3x3xf32>
  %g = pascaline.fused(%x, %u) : (tensor<1x64x56x56xf32>, tensor<64x64x1x1xf32>) -> tensor<1x64x56x56xf32> {
  ^bb0(%0: tensor<1x64x56x56xf32>, %1: tensor<64x64x1x1xf32>):
    %2 = pascaline.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, groups = 1 : i64} : tensor<1x64x56x56xf32>, tensor<64x64x1x1xf32> loc("g_conv")
    %3 = pascaline.relu %2 : tensor<1x64x56x56xf32>
    pascaline.yield %3 : tensor<1x64x56x56xf32>
  }
  %h = pascaline.fused(%g, %v) : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x56x56xf32> {
  ^bb0(%0: tensor<1x64x56x56xf32>, %1: tensor<64x64x3x3xf32>):
    %2 = pascaline.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, groups = 1 : i64} : tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32> loc("h_conv")
    %3 = pascaline.relu %2 : tensor<1x64x56x56xf32>
    pascaline.yield %3 : tensor<1x64x56x56xf32>
  }
  %r = pascaline.reshape %g : tensor<1x64x56x56xf32> -> tensor<200704xf32>
  return %h, %r : tensor<1x64x56x56xf32>, tensor<200704xf32>
}

// A product reads its operands by strides, which cannot say packed.
// CHECK-LABEL: @what_a_product_reads_is_left_alone
// CHECK-NOT: pascaline.layout
func.func @what_a_product_reads_is_left_alone(%x: tensor<1x64x56x56xf32>, %z: tensor<56x8xf32>) -> (tensor<1x64x56x56xf32>, tensor<1x64x56x8xf32>) {
  %u = pascaline.constant dense<0.5> : tensor<64x64x1x1xf32>
  %v = pascaline.constant dense<0.5> : tensor<64x64x3x3xf32>
  %i = pascaline.fused(%x, %u) : (tensor<1x64x56x56xf32>, tensor<64x64x1x1xf32>) -> tensor<1x64x56x56xf32> {
  ^bb0(%0: tensor<1x64x56x56xf32>, %1: tensor<64x64x1x1xf32>):
    %2 = pascaline.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, groups = 1 : i64} : tensor<1x64x56x56xf32>, tensor<64x64x1x1xf32> loc("i_conv")
    %3 = pascaline.relu %2 : tensor<1x64x56x56xf32>
    pascaline.yield %3 : tensor<1x64x56x56xf32>
  }
  %j = pascaline.fused(%i, %v) : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x56x56xf32> {
  ^bb0(%0: tensor<1x64x56x56xf32>, %1: tensor<64x64x3x3xf32>):
    %2 = pascaline.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, groups = 1 : i64} : tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32> loc("j_conv")
    %3 = pascaline.relu %2 : tensor<1x64x56x56xf32>
    pascaline.yield %3 : tensor<1x64x56x56xf32>
  }
  %m = pascaline.fused(%i, %z) : (tensor<1x64x56x56xf32>, tensor<56x8xf32>) -> tensor<1x64x56x8xf32> {
  ^bb0(%0: tensor<1x64x56x56xf32>, %1: tensor<56x8xf32>):
    %2 = pascaline.matmul %0, %1 : tensor<1x64x56x56xf32>, tensor<56x8xf32>
    pascaline.yield %2 : tensor<1x64x56x8xf32>
  }
  return %j, %m : tensor<1x64x56x56xf32>, tensor<1x64x56x8xf32>
}

// Conversions that are left, and who pays.
// SAID-DAG: layout: "in_load": converted in a load: conv wants another order and reads it in place
// SAID-DAG: layout: "in_store": converted in a store: conv makes one order, its readers want another
// SAID-DAG: layout: "kernel": converted in a kernel of its own: the model's input comes in one order, the model returns another
func.func @conversions(%x: tensor<1x56x56x64xf32>) -> (tensor<1x56x56x64xf32>, tensor<1x64x56x56xf32>) {
  %u = pascaline.constant dense<0.5> : tensor<64x64x1x1xf32>
  %a = pascaline.fused(%x, %u) : (tensor<1x56x56x64xf32>, tensor<64x64x1x1xf32>) -> tensor<1x56x56x64xf32> {
  ^bb0(%0: tensor<1x56x56x64xf32>, %1: tensor<64x64x1x1xf32>):
    %2 = pascaline.transpose %0 {perm = array<i64: 0, 3, 1, 2>} : tensor<1x56x56x64xf32> loc("in_load")
    %3 = pascaline.conv %2, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, groups = 1 : i64} : tensor<1x64x56x56xf32>, tensor<64x64x1x1xf32>
    %4 = pascaline.transpose %3 {perm = array<i64: 0, 2, 3, 1>} : tensor<1x64x56x56xf32> loc("in_store")
    pascaline.yield %4 : tensor<1x56x56x64xf32>
  }
  %b = pascaline.fused(%x) : (tensor<1x56x56x64xf32>) -> tensor<1x64x56x56xf32> {
  ^bb0(%0: tensor<1x56x56x64xf32>):
    %2 = pascaline.transpose %0 {perm = array<i64: 0, 3, 1, 2>} : tensor<1x56x56x64xf32> loc("kernel")
    pascaline.yield %2 : tensor<1x64x56x56xf32>
  }
  return %a, %b : tensor<1x56x56x64xf32>, tensor<1x64x56x56xf32>
}
