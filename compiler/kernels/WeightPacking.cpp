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

/// Copies one row: `count` elements that lie `stride` elements apart.
template <typename Element>
static void copyRow(char *to, const char *from, int64_t count, int64_t stride) {
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * sizeof(Element), from + i * stride * sizeof(Element),
                sizeof(Element));
}

llvm::SmallVector<char> packWeights(llvm::ArrayRef<char> source,
                                    const WeightPacking &p) {
  llvm::SmallVector<char> packed(p.bytes(), 0);
  int64_t leading = p.kPadded - p.taps * p.channelsPadded;
  char *row = packed.data();
  for (int64_t group = 0; group < p.groups; ++group)
    for (int64_t k = -leading; k < p.kPadded - leading;
         ++k, row += p.mPadded * p.elementBytes) {
      int64_t tap = k / p.channelsPadded, c = k % p.channelsPadded;
      if (k < 0 || c >= p.channels)
        continue;
      int64_t at = group * p.groupStride + tap * p.tapStride + c * p.cStride;
      const char *from = source.data() + at * p.elementBytes;
      switch (p.elementBytes) {
      case 1:
        copyRow<uint8_t>(row, from, p.m, p.mStride);
        break;
      case 2:
        copyRow<uint16_t>(row, from, p.m, p.mStride);
        break;
      case 4:
        copyRow<uint32_t>(row, from, p.m, p.mStride);
        break;
      default:
        copyRow<uint64_t>(row, from, p.m, p.mStride);
      }
    }
  return packed;
}

} // namespace pascaline
