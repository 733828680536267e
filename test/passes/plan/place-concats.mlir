// RUN: pascaline-opt %s -split-input-file --pascaline-place-concats --pascaline-plan-memory --decisions 2>&1 | FileCheck %s

// What is joined is written into slices of the result; the kernel goes.
// CHECK-NOT:   plan.kernel
// CHECK-LABEL: plan.program @fires
// CHECK:         %[[WHOLE:.*]] = plan.buffer arena {bytes = 1536 : i64
// CHECK-DAG:     %[[A:.*]] = plan.view %[[WHOLE]] {bytes = 512 : i64, start = 0 : i64}
// CHECK-DAG:     %[[B:.*]] = plan.view %[[WHOLE]] {bytes = 1024 : i64, start = 512 : i64}
// CHECK:         plan.launch @k(%{{.*}}, %[[A]])
// CHECK:         plan.launch @k(%{{.*}}, %[[B]])
// CHECK-NOT:     joins
// CHECK:         plan.launch @k(%[[WHOLE]], %{{.*}})
plan.kernel @concat attributes {block = array<i64: 64, 1, 1>, configuration = "", shared_bytes = 0 : i64} {
  builtin.module {}
}
plan.program @fires attributes {input_names = ["x"], input_types = [tensor<64xf32>], output_names = ["y"], output_types = [tensor<64xf32>]} {
  %x = plan.buffer input {bytes = 256 : i64, index = 0 : i64}
  %a = plan.buffer arena {bytes = 512 : i64}
  plan.launch @k(%x, %a) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = ["a"], flops = 0 : i64, bytes = 0 : i64}
  %b = plan.buffer arena {bytes = 1024 : i64}
  plan.launch @k(%x, %b) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = ["b"], flops = 0 : i64, bytes = 0 : i64}
  %c = plan.buffer arena {bytes = 1536 : i64}
  plan.launch @concat(%a, %b, %c) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 0, 1>, nodes = ["join"], flops = 0 : i64, bytes = 0 : i64, joins}
  %y = plan.buffer output {bytes = 256 : i64, index = 0 : i64}
  plan.launch @k(%c, %y) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = ["last"], flops = 0 : i64, bytes = 0 : i64}
  plan.return %y
}

// -----

// A dense block: the second concat joins what the first did and one more, so
// the first one's result is the start of the second's. An output too is
// written in slices.
// CHECK-LABEL: plan.program @dense
// CHECK:         %[[WHOLE:.*]] = plan.buffer output {bytes = 768 : i64
// CHECK-DAG:     %[[PAIR:.*]] = plan.view %[[WHOLE]] {bytes = 512 : i64, start = 0 : i64}
// CHECK-DAG:     %[[C:.*]] = plan.view %[[WHOLE]] {bytes = 256 : i64, start = 512 : i64}
// CHECK-DAG:     plan.view %[[PAIR]] {bytes = 256 : i64, start = 0 : i64}
// CHECK-DAG:     plan.view %[[PAIR]] {bytes = 256 : i64, start = 256 : i64}
// CHECK-NOT:     joins
// CHECK:         plan.launch @k(%[[PAIR]], %[[C]])
plan.program @dense attributes {input_names = ["x"], input_types = [tensor<64xf32>], output_names = ["y"], output_types = [tensor<192xf32>]} {
  %x = plan.buffer input {bytes = 256 : i64, index = 0 : i64}
  %a = plan.buffer arena {bytes = 256 : i64}
  plan.launch @k(%x, %a) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = ["a"], flops = 0 : i64, bytes = 0 : i64}
  %b = plan.buffer arena {bytes = 256 : i64}
  plan.launch @k(%a, %b) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = ["b"], flops = 0 : i64, bytes = 0 : i64}
  %p = plan.buffer arena {bytes = 512 : i64}
  plan.launch @concat(%a, %b, %p) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 0, 1>, nodes = ["pair"], flops = 0 : i64, bytes = 0 : i64, joins}
  %c = plan.buffer arena {bytes = 256 : i64}
  plan.launch @k(%p, %c) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = ["c"], flops = 0 : i64, bytes = 0 : i64}
  %y = plan.buffer output {bytes = 768 : i64, index = 0 : i64}
  plan.launch @concat(%a, %b, %c, %y) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 0, 0, 1>, nodes = ["all"], flops = 0 : i64, bytes = 0 : i64, joins}
  plan.return %y
}

// -----

// Left alone: an input is the caller's, the same value cannot be in two
// places, a slice cannot start at byte 4, and one value cannot lie in two
// results.
// CHECK-LABEL: plan.program @alone
// CHECK-NOT:     plan.view
// CHECK-COUNT-3: joins
plan.program @alone attributes {input_names = ["x"], input_types = [tensor<64xf32>], output_names = ["y", "z", "v"], output_types = [tensor<128xf32>, tensor<128xf32>, tensor<65xf32>]} {
  %x = plan.buffer input {bytes = 256 : i64, index = 0 : i64}
  %a = plan.buffer arena {bytes = 256 : i64}
  plan.launch @k(%x, %a) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = ["a"], flops = 0 : i64, bytes = 0 : i64}
  %y = plan.buffer output {bytes = 512 : i64, index = 0 : i64}
  plan.launch @concat(%a, %x, %y) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 0, 1>, nodes = ["input"], flops = 0 : i64, bytes = 0 : i64, joins}
  %z = plan.buffer output {bytes = 512 : i64, index = 1 : i64}
  plan.launch @concat(%a, %a, %z) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 0, 1>, nodes = ["twice"], flops = 0 : i64, bytes = 0 : i64, joins}
  %s = plan.buffer arena {bytes = 4 : i64}
  plan.launch @k(%x, %s) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = ["s"], flops = 0 : i64, bytes = 0 : i64}
  %v = plan.buffer output {bytes = 260 : i64, index = 2 : i64}
  plan.launch @concat(%s, %a, %v) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 0, 1>, nodes = ["odd"], flops = 0 : i64, bytes = 0 : i64, joins}
  plan.return %y, %z, %v
}

// -----

// The first part would keep the whole result alive while another value, larger
// than all, lives too: copying it costs less.
// CHECK-LABEL: plan.program @dear
// CHECK-NOT:     plan.view
// CHECK:         joins
plan.program @dear attributes {input_names = ["x"], input_types = [tensor<64xf32>], output_names = ["y"], output_types = [tensor<64xf32>]} {
  %x = plan.buffer input {bytes = 256 : i64, index = 0 : i64}
  %a = plan.buffer arena {bytes = 256 : i64}
  plan.launch @k(%x, %a) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = ["a"], flops = 0 : i64, bytes = 0 : i64}
  %big = plan.buffer arena {bytes = 65536 : i64}
  plan.launch @k(%a, %big) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = ["big"], flops = 0 : i64, bytes = 0 : i64}
  %small = plan.buffer arena {bytes = 256 : i64}
  plan.launch @k(%big, %small) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = ["small"], flops = 0 : i64, bytes = 0 : i64}
  %b = plan.buffer arena {bytes = 16384 : i64}
  plan.launch @k(%small, %b) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = ["b"], flops = 0 : i64, bytes = 0 : i64}
  %c = plan.buffer arena {bytes = 16640 : i64}
  plan.launch @concat(%a, %b, %c) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 0, 1>, nodes = ["join"], flops = 0 : i64, bytes = 0 : i64, joins}
  %y = plan.buffer output {bytes = 256 : i64, index = 0 : i64}
  plan.launch @k(%c, %y) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = ["last"], flops = 0 : i64, bytes = 0 : i64}
  plan.return %y
}
