// RUN: pascaline-opt %s -split-input-file -verify-diagnostics

plan.program @input_without_index attributes {input_names = [], input_types = [], output_names = [], output_types = []} {
  // expected-error @+1 {{'plan.buffer' op needs an index exactly when it is an input or an output}}
  %a = plan.buffer input {bytes = 4 : i64}
}

// -----

plan.program @weights_without_value attributes {input_names = [], input_types = [], output_names = [], output_types = []} {
  // expected-error @+1 {{'plan.buffer' op needs a value exactly when it is of weights}}
  %a = plan.buffer weights {bytes = 4 : i64}
}

// -----

plan.program @access_of_each_buffer attributes {input_names = [], input_types = [], output_names = [], output_types = []} {
  %a = plan.buffer arena {bytes = 4 : i64}
  // expected-error @+1 {{'plan.launch' op has 1 buffers and 2 accesses}}
  plan.launch @k(%a) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = [], flops = 0 : i64, bytes = 0 : i64}
}

// -----

plan.program @grid_in_the_chips_limits attributes {input_names = [], input_types = [], output_names = [], output_types = []} {
  // expected-error @+1 {{'plan.launch' op has a grid extent of 65536, not in 1..65535}}
  plan.launch @k() {grid = array<i64: 1, 65536, 1>, access = array<i32>, nodes = [], flops = 0 : i64, bytes = 0 : i64}
}

// -----

plan.program @view_inside attributes {input_names = [], input_types = [], output_names = [], output_types = []} {
  %a = plan.buffer arena {bytes = 64 : i64}
  // expected-error @+1 {{'plan.view' op is of 64 bytes from 16 on, in a buffer of 64}}
  %b = plan.view %a {start = 16 : i64, bytes = 64 : i64}
}

// -----

plan.program @view_of_view attributes {input_names = [], input_types = [], output_names = [], output_types = []} {
  %a = plan.buffer arena {bytes = 64 : i64}
  %b = plan.view %a {start = 16 : i64, bytes = 32 : i64}
  // expected-error @+1 {{'plan.view' op is of 32 bytes from 16 on, in a buffer of 32}}
  %c = plan.view %b {start = 16 : i64, bytes = 32 : i64}
}

// -----

plan.program @view_aligned attributes {input_names = [], input_types = [], output_names = [], output_types = []} {
  %a = plan.buffer arena {bytes = 64 : i64}
  // expected-error @+1 {{'plan.view' op starts at byte 8, which is no multiple of 16}}
  %b = plan.view %a {start = 8 : i64, bytes = 16 : i64}
}

// -----

plan.program @types_of_each_buffer attributes {input_names = [], input_types = [], output_names = [], output_types = []} {
  %a = plan.buffer arena {bytes = 4 : i64}
  // expected-error @+1 {{'plan.launch' op has 1 buffers and 2 types}}
  plan.launch @k(%a) {grid = array<i64: 1, 1, 1>, access = array<i32: 1>, nodes = [], flops = 0 : i64, bytes = 0 : i64, types = [none, none]}
}

// -----

plan.program @replaces_what_it_writes attributes {input_names = [], input_types = [], output_names = [], output_types = []} {
  %a = plan.buffer arena {bytes = 4 : i64}
  %b = plan.buffer arena {bytes = 4 : i64}
  // expected-error @+1 {{'plan.launch' op needs pairs of the positions of a buffer it reads and one it writes in replaceable}}
  plan.launch @k(%a, %b) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = [], flops = 0 : i64, bytes = 0 : i64, replaceable = array<i32: 1, 0>}
}

// -----

plan.program @outside_the_arena attributes {input_names = [], input_types = [], output_names = [], output_types = [], arena_bytes = 256 : i64} {
  // expected-error @+1 {{'plan.buffer' op has 512 bytes from 0 on, outside an arena of 256}}
  %a = plan.buffer arena {bytes = 512 : i64, offset = 0 : i64}
  plan.launch @k(%a) {grid = array<i64: 1, 1, 1>, access = array<i32: 1>, nodes = [], flops = 0 : i64, bytes = 0 : i64}
}

// -----

// What the pair at a launch may share, an operand that is read later may not.
plan.program @shares_what_lives attributes {input_names = [], input_types = [], output_names = [], output_types = [], arena_bytes = 512 : i64} {
  // expected-note @+1 {{the other is here}}
  %a = plan.buffer arena {bytes = 512 : i64, offset = 0 : i64}
  // expected-error @+1 {{'plan.buffer' op has bytes of the arena in common with another buffer that lives at the same time}}
  %b = plan.buffer arena {bytes = 512 : i64, offset = 0 : i64}
  plan.launch @k(%a) {grid = array<i64: 1, 1, 1>, access = array<i32: 1>, nodes = [], flops = 0 : i64, bytes = 0 : i64}
  plan.launch @k(%a, %b) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = [], flops = 0 : i64, bytes = 0 : i64, replaceable = array<i32: 0, 1>}
  plan.launch @k(%a) {grid = array<i64: 1, 1, 1>, access = array<i32: 0>, nodes = [], flops = 0 : i64, bytes = 0 : i64}
}

// -----

// No error: the operand dies there.
plan.program @shares_what_dies attributes {input_names = [], input_types = [], output_names = [], output_types = [], arena_bytes = 512 : i64} {
  %a = plan.buffer arena {bytes = 512 : i64, offset = 0 : i64}
  %b = plan.buffer arena {bytes = 512 : i64, offset = 0 : i64}
  plan.launch @k(%a) {grid = array<i64: 1, 1, 1>, access = array<i32: 1>, nodes = [], flops = 0 : i64, bytes = 0 : i64}
  plan.launch @k(%a, %b) {grid = array<i64: 1, 1, 1>, access = array<i32: 0, 1>, nodes = [], flops = 0 : i64, bytes = 0 : i64, replaceable = array<i32: 0, 1>}
}
