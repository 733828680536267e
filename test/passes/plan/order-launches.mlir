// RUN: pascaline-opt %s --pascaline-order-launches --pascaline-plan-memory | FileCheck %s

// Two branches that narrow: one after the other, only one wide value lives.
// CHECK-LABEL: plan.program @branches
// CHECK-SAME:    arena_bytes = 4608
// CHECK:         nodes = ["wide1"]
// CHECK:         nodes = ["narrow1"]
// CHECK:         nodes = ["wide2"]
// CHECK:         nodes = ["narrow2"]
// CHECK:         nodes = ["join"]
plan.program @branches attributes {input_names = ["x"], input_types = [tensor<64xf32>], output_names = ["y"], output_types = [tensor<64xf32>]} {
  %x = plan.buffer input {bytes = 256 : i64, index = 0 : i64}
  %a = plan.buffer arena {bytes = 4096 : i64}
  plan.launch @k(%x, %a) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = ["wide1"], flops = 0 : i64, bytes = 0 : i64}
  %b = plan.buffer arena {bytes = 4096 : i64}
  plan.launch @k(%x, %b) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = ["wide2"], flops = 0 : i64, bytes = 0 : i64}
  %c = plan.buffer arena {bytes = 256 : i64}
  plan.launch @k(%a, %c) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = ["narrow1"], flops = 0 : i64, bytes = 0 : i64}
  %d = plan.buffer arena {bytes = 256 : i64}
  plan.launch @k(%b, %d) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = ["narrow2"], flops = 0 : i64, bytes = 0 : i64}
  %y = plan.buffer output {bytes = 256 : i64, index = 0 : i64}
  plan.launch @k(%c, %d, %y) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 0, 1>, nodes = ["join"], flops = 0 : i64, bytes = 0 : i64}
  plan.return %y
}

// Nothing is gained: the order stays, though another would do as well.
// CHECK-LABEL: plan.program @no_gain
// CHECK:         nodes = ["first"]
// CHECK:         nodes = ["second"]
// CHECK:         nodes = ["join"]
plan.program @no_gain attributes {input_names = ["x"], input_types = [tensor<64xf32>], output_names = ["y"], output_types = [tensor<64xf32>]} {
  %x = plan.buffer input {bytes = 256 : i64, index = 0 : i64}
  %a = plan.buffer arena {bytes = 512 : i64}
  plan.launch @k(%x, %a) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = ["first"], flops = 0 : i64, bytes = 0 : i64}
  %b = plan.buffer arena {bytes = 256 : i64}
  plan.launch @k(%x, %b) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = ["second"], flops = 0 : i64, bytes = 0 : i64}
  %y = plan.buffer output {bytes = 256 : i64, index = 0 : i64}
  plan.launch @k(%a, %b, %y) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 0, 1>, nodes = ["join"], flops = 0 : i64, bytes = 0 : i64}
  plan.return %y
}

// Two launches write halves of one buffer and a third reads all of it: the
// writers may change places, the reader waits for both.
// CHECK-LABEL: plan.program @views
// CHECK-SAME:    arena_bytes = 8192
// CHECK:         nodes = ["wide"]
// CHECK:         nodes = ["wider"]
// CHECK:         nodes = ["high"]
// CHECK:         nodes = ["low"]
// CHECK:         nodes = ["whole"]
plan.program @views attributes {input_names = ["x"], input_types = [tensor<64xf32>], output_names = ["y"], output_types = [tensor<64xf32>]} {
  %x = plan.buffer input {bytes = 256 : i64, index = 0 : i64}
  %whole = plan.buffer arena {bytes = 1024 : i64}
  %low = plan.view %whole {start = 0 : i64, bytes = 512 : i64}
  %high = plan.view %whole {start = 512 : i64, bytes = 512 : i64}
  %other = plan.buffer arena {bytes = 4096 : i64}
  plan.launch @k(%x, %low) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = ["low"], flops = 0 : i64, bytes = 0 : i64}
  %d = plan.buffer arena {bytes = 4096 : i64}
  plan.launch @k(%x, %d) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = ["wide"], flops = 0 : i64, bytes = 0 : i64}
  %e = plan.buffer arena {bytes = 4096 : i64}
  plan.launch @k(%d, %e) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = ["wider"], flops = 0 : i64, bytes = 0 : i64}
  plan.launch @k(%e, %high) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = ["high"], flops = 0 : i64, bytes = 0 : i64}
  plan.launch @k(%whole, %other) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = ["whole"], flops = 0 : i64, bytes = 0 : i64}
  %y = plan.buffer output {bytes = 256 : i64, index = 0 : i64}
  plan.launch @k(%other, %y) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = ["last"], flops = 0 : i64, bytes = 0 : i64}
  plan.return %y
}
