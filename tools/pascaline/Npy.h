// Npy.h - NumPy's .npy files, as numpy.lib.format describes them: versions 1 to
// 3 read, version 1 written. Plain arrays of our element types only.
//
// Test: test/runtime/NpyTest.cpp
#pragma once

#include "pascaline/pascaline.h"

#include <cstdint>
#include <string>
#include <vector>

namespace pascaline::cli {

struct NpyArray {
  pascaline_element_type type;
  std::vector<int64_t> shape;
  std::vector<uint8_t> data; // row-major, little-endian
};

// Throws Failure with a sentence about `path`. bfloat16 is what NumPy (with
// ml_dtypes) stores as V2.
NpyArray readNpy(const std::string &path);

// What a run is given: arrays, which stay where they are, and room for outputs.
struct HostBuffers {
  HostBuffers(std::vector<NpyArray> &inputs,
              const std::vector<pascaline_tensor_info> &outputs);
  std::vector<pascaline_buffer> in, out;
  std::vector<std::vector<uint8_t>> results;
};

// What goes in front of the data.
std::string npyHeader(pascaline_element_type type, const int64_t *shape,
                      size_t rank);

} // namespace pascaline::cli
