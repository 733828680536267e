// WeightPacking.cpp - see the header.

#include "compiler/kernels/WeightPacking.h"

#include <cstring>
#include <tuple>

namespace pascaline {

bool WeightPacking::operator==(const WeightPacking &o) const {
  auto fields = [](const WeightPacking &p) {
    return std::tie(p.elementBytes, p.groups, p.m, p.taps, p.channels,
                    p.channelsPadded, p.mPadded, p.kPadded, p.groupStride,
                    p.mStride, p.tapStride, p.cStride);
  };
  return fields(*this) == fields(o);
}

llvm::SmallVector<char> packWeights(llvm::ArrayRef<char> source,
                                    const WeightPacking &p) {
  llvm::SmallVector<char> packed(p.bytes(), 0);
  char *row = packed.data();
  for (int64_t group = 0; group < p.groups; ++group)
    for (int64_t k = 0; k < p.kPadded; ++k, row += p.mPadded * p.elementBytes) {
      int64_t tap = k / p.channelsPadded, c = k % p.channelsPadded;
      if (tap >= p.taps || c >= p.channels)
        continue;
      const char *from = source.data() + (group * p.groupStride +
                                          tap * p.tapStride + c * p.cStride) *
                                             p.elementBytes;
      for (int64_t m = 0; m < p.m; ++m)
        std::memcpy(row + m * p.elementBytes,
                    from + m * p.mStride * p.elementBytes, p.elementBytes);
    }
  return packed;
}

} // namespace pascaline
