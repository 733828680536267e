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
