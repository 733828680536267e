// KernelHarness.h - generate the kernel of a group written as MLIR text, lower
// it to PTX and run that on the emulator.
//
//   KernelRun run = runGroup(R"(
//     func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
//       %y = pascaline.fused(%x) : (tensor<4xf32>) -> tensor<4xf32> {
//       ^bb0(%0: tensor<4xf32>):
//         %1 = pascaline.relu %0 : tensor<4xf32>
//         pascaline.yield %1 : tensor<4xf32>
//       }
//       return %y : tensor<4xf32>
//     })", {bytesOf(x)});
//   ASSERT_EQ(run.error, "");
//   auto y = valuesOf<float>(run.outputs[0]);
//
// The text holds one group. Inputs are the bytes of its operands in order,
// constants included.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace pascaline::test {

using Bytes = std::vector<char>;

struct KernelRun {
  std::string error; ///< empty when all went well
  std::string entry, ptx, configuration;
  std::array<int64_t, 3> grid = {}, block = {};
  std::vector<Bytes> outputs; ///< of the group's results
};

/// Generates and compiles alone.
KernelRun compileGroup(const std::string &text);

/// Also runs it. Operands are checked against their types' sizes. In place,
/// results lie where the kernel says that they may lie in an operand's place,
/// which is an error where it says so of none.
KernelRun runGroup(const std::string &text, const std::vector<Bytes> &inputs,
                   bool inPlace = false);

/// A group of one op over its operands, as text: `results` from `operands` by
/// `body`, which names the block arguments %0, %1, ... and ends with the yield.
std::string groupText(const std::vector<std::string> &operands,
                      const std::vector<std::string> &results,
                      const std::string &body);

template <typename T> Bytes bytesOf(const std::vector<T> &values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <typename T> std::vector<T> valuesOf(const Bytes &bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

/// Reproducible numbers in [low, high).
std::vector<float> randomFloats(size_t count, float low = -2, float high = 2,
                                uint32_t seed = 1);

} // namespace pascaline::test
