// RUN: pascaline-opt %s --pascaline-plan-memory | FileCheck %s

// Three values in a chain: the third may lie where the first was, since they
// never live together; the second may not.
// CHECK-LABEL: plan.program @chain
// CHECK-SAME:    arena_bytes = 2048
// CHECK-SAME:    lower_bound = 2048
// CHECK:         plan.buffer arena {bytes = 1000 : i64, offset = [[FIRST:[0-9]+]] : i64}
// CHECK:         plan.buffer arena {bytes = 1000 : i64, offset = [[SECOND:[0-9]+]] : i64}
// CHECK:         plan.buffer arena {bytes = 1000 : i64, offset = [[FIRST]] : i64}
plan.program @chain attributes {input_names = ["x"], input_types = [tensor<250xf32>], output_names = ["y"], output_types = [tensor<250xf32>]} {
  %x = plan.buffer input {bytes = 1000 : i64, index = 0 : i64}
  %a = plan.buffer arena {bytes = 1000 : i64}
  plan.launch @k(%x, %a) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = ["a"], flops = 0 : i64, bytes = 0 : i64}
  %b = plan.buffer arena {bytes = 1000 : i64}
  plan.launch @k(%a, %b) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = ["b"], flops = 0 : i64, bytes = 0 : i64}
  %c = plan.buffer arena {bytes = 1000 : i64}
  plan.launch @k(%b, %c) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = ["c"], flops = 0 : i64, bytes = 0 : i64}
  %y = plan.buffer output {bytes = 1000 : i64, index = 0 : i64}
  plan.launch @k(%c, %y) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = ["d"], flops = 0 : i64, bytes = 0 : i64}
  plan.return %y
}

// A value read again at the end keeps its bytes until then; counters are never
// shared, though their launches are apart.
// CHECK-LABEL: plan.program @long_life
// CHECK-SAME:    arena_bytes = 1536
// CHECK-SAME:    counter_bytes = 512
// CHECK:         plan.buffer arena {bytes = 512 : i64, offset = 0 : i64}
// CHECK:         plan.buffer arena {bytes = 512 : i64, offset = 512 : i64}
// CHECK:         plan.buffer arena {bytes = 512 : i64, offset = 1024 : i64}
// CHECK:         plan.buffer counters {bytes = 4 : i64, offset = 0 : i64}
// CHECK:         plan.buffer counters {bytes = 4 : i64, offset = 256 : i64}
plan.program @long_life attributes {input_names = [], input_types = [], output_names = [], output_types = []} {
  %a = plan.buffer arena {bytes = 512 : i64}
  %b = plan.buffer arena {bytes = 512 : i64}
  %c = plan.buffer arena {bytes = 512 : i64}
  %n = plan.buffer counters {bytes = 4 : i64}
  %m = plan.buffer counters {bytes = 4 : i64}
  plan.launch @k(%a, %n) {grid = array<i64: 1, 1, 1>, access = array<i32: 1, 2>, nodes = [], flops = 0 : i64, bytes = 0 : i64}
  plan.launch @k(%a, %b) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = [], flops = 0 : i64, bytes = 0 : i64}
  plan.launch @k(%b, %c, %m) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1, 2>, nodes = [], flops = 0 : i64, bytes = 0 : i64}
  plan.launch @k(%c, %a) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 0>, nodes = [], flops = 0 : i64, bytes = 0 : i64}
  plan.return
}

// Programs of one module, a shape set each, have arenas of their own and one
// place for what is equal in value and packing.
// CHECK-LABEL: plan.program @sets
// CHECK-SAME:    arena_bytes = 512
// CHECK:         plan.buffer weights {{.*}}offset = [[W:[0-9]+]] : i64{{.*}}dense<1.0
// CHECK:         plan.buffer weights {{.*}}offset = [[V:[0-9]+]] : i64{{.*}}dense<2.0
// CHECK-LABEL: plan.program @sets_1
// CHECK-SAME:    arena_bytes = 1024
// CHECK:         plan.buffer weights {{.*}}offset = [[V]] : i64{{.*}}dense<2.0
// CHECK:         plan.buffer weights {{.*}}offset = [[W]] : i64{{.*}}dense<1.0
// CHECK-NOT:     plan.buffer weights {{.*}}offset = [[W]] : i64
// CHECK:         plan.return
plan.program @sets attributes {input_names = [], input_types = [], output_names = [], output_types = []} {
  %w = plan.buffer weights {bytes = 8 : i64, value = dense<1.0> : tensor<2xf32>}
  %v = plan.buffer weights {bytes = 8 : i64, value = dense<2.0> : tensor<2xf32>}
  %a = plan.buffer arena {bytes = 512 : i64}
  plan.launch @k(%w, %v, %a) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 0, 1>, nodes = [], flops = 0 : i64, bytes = 0 : i64}
  plan.return
}
plan.program @sets_1 attributes {input_names = [], input_types = [], output_names = [], output_types = []} {
  %v = plan.buffer weights {bytes = 8 : i64, value = dense<2.0> : tensor<2xf32>}
  %w = plan.buffer weights {bytes = 8 : i64, value = dense<1.0> : tensor<2xf32>}
  %p = plan.buffer weights {bytes = 16 : i64, packing = array<i64: 4, 1, 2, 1, 1, 1, 4, 1, 2, 1, 1, 1>, value = dense<1.0> : tensor<2xf32>}
  %a = plan.buffer arena {bytes = 1024 : i64}
  plan.launch @k(%w, %v, %p, %a) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 0, 0, 1>, nodes = [], flops = 0 : i64, bytes = 0 : i64}
  plan.return
}

// A result takes the place of an operand that dies with the launch, where the
// kernel allows it: not of one that is read later, nor of one bound twice.
// CHECK-LABEL: plan.program @in_place
// CHECK-SAME:    arena_bytes = 3072
// CHECK-SAME:    lower_bound = 3072
// CHECK:         plan.buffer arena {bytes = 1000 : i64, offset = [[A:[0-9]+]] : i64}
// CHECK:         plan.buffer arena {bytes = 1000 : i64, offset = [[A]] : i64}
// CHECK:         plan.buffer arena {bytes = 1000 : i64, offset = [[C:[0-9]+]] : i64}
// CHECK:         plan.buffer arena {bytes = 1000 : i64, offset = [[D:[0-9]+]] : i64}
// CHECK-NOT:     {bytes = 1000 : i64, offset = [[D]] : i64}
plan.program @in_place attributes {input_names = ["x"], input_types = [tensor<250xf32>], output_names = ["y"], output_types = [tensor<250xf32>]} {
  %x = plan.buffer input {bytes = 1000 : i64, index = 0 : i64}
  %a = plan.buffer arena {bytes = 1000 : i64}
  plan.launch @k(%x, %a) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = ["a"], flops = 0 : i64, bytes = 0 : i64}
  %b = plan.buffer arena {bytes = 1000 : i64}
  plan.launch @k(%a, %b) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = ["dies"], flops = 0 : i64, bytes = 0 : i64, replaceable = array<i32: 0, 1>}
  %c = plan.buffer arena {bytes = 1000 : i64}
  plan.launch @k(%b, %c) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = ["lives"], flops = 0 : i64, bytes = 0 : i64, replaceable = array<i32: 0, 1>}
  %d = plan.buffer arena {bytes = 1000 : i64}
  plan.launch @k(%b, %b, %d) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 0, 1>, nodes = ["twice"], flops = 0 : i64, bytes = 0 : i64, replaceable = array<i32: 0, 2>}
  %y = plan.buffer output {bytes = 1000 : i64, index = 0 : i64}
  plan.launch @k(%c, %d, %y) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 0, 1>, nodes = ["y"], flops = 0 : i64, bytes = 0 : i64}
  plan.return %y
}

// A buffer lives while a view of it does.
// CHECK-LABEL: plan.program @views
// CHECK-SAME:    arena_bytes = 1536
plan.program @views attributes {input_names = ["x"], input_types = [tensor<64xf32>], output_names = ["y"], output_types = [tensor<64xf32>]} {
  %x = plan.buffer input {bytes = 256 : i64, index = 0 : i64}
  %whole = plan.buffer arena {bytes = 1024 : i64}
  %part = plan.view %whole {start = 512 : i64, bytes = 512 : i64}
  plan.launch @k(%x, %part) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = ["part"], flops = 0 : i64, bytes = 0 : i64}
  %a = plan.buffer arena {bytes = 512 : i64}
  plan.launch @k(%x, %a) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = ["a"], flops = 0 : i64, bytes = 0 : i64}
  %y = plan.buffer output {bytes = 256 : i64, index = 0 : i64}
  plan.launch @k(%part, %a, %y) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 0, 1>, nodes = ["y"], flops = 0 : i64, bytes = 0 : i64}
  plan.return %y
}
