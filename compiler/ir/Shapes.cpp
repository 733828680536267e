// Shapes.cpp - broadcasting, windows and strides.
#include "compiler/ir/Shapes.h"

#include <algorithm>
#include <limits>

namespace pascaline {

std::optional<Shape> broadcastShapes(llvm::ArrayRef<int64_t> a,
                                     llvm::ArrayRef<int64_t> b) {
  if (a.size() < b.size())
    std::swap(a, b);
  Shape result(a.begin(), a.end());
  size_t offset = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) {
    int64_t &d = result[offset + i];
    if (d == b[i] || b[i] == 1)
      continue;
    if (d != 1)
      return std::nullopt;
    d = b[i];
  }
  return result;
}

std::optional<int64_t> windowOutputs(int64_t in, int64_t window, int64_t stride,
                                     int64_t dilation, int64_t begin,
                                     int64_t end) {
  // Below 2^31 every sum and product of two fits in 64 bits.
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (in < 0 || begin < 0 || end < 0 || window < 1 || stride < 1 ||
      dilation < 1)
    return std::nullopt;
  if (std::max({in, begin, end, window, stride, dilation}) > kMost)
    return std::nullopt;
  int64_t room = in + begin + end - (dilation * (window - 1) + 1);
  if (room < 0)
    return std::nullopt;
  return room / stride + 1;
}

Shape rowMajorStrides(llvm::ArrayRef<int64_t> shape) {
  Shape strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

} // namespace pascaline
