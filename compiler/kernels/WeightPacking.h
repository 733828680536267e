// WeightPacking.h - how a contraction wants its constant operand laid out.
//
// The core reads A as [group][k][m] with m and k padded by zeros to whole
// tiles, so that it needs no mask and every load is 128-bit. The source is any
// constant tensor; source element of (group, m, tap, c) is at
// group * groupStride + m * mStride + tap * tapStride + c * cStride, and k runs
// tap-outer, channel-inner: k = tap * channelsPadded + c, after the
// kPadded - taps * channelsPadded rows of zeros, which come first.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace pascaline {

struct WeightPacking {
  int64_t elementBytes = 4;
  int64_t groups = 1, m = 1, taps = 1, channels = 1;
  int64_t channelsPadded = 1; ///< >= channels
  int64_t mPadded = 1;        ///< >= m
  int64_t kPadded = 1;        ///< >= taps * channelsPadded
  int64_t groupStride = 0, mStride = 0, tapStride = 0,
          cStride = 0; ///< in elements

  int64_t bytes() const { return groups * kPadded * mPadded * elementBytes; }
  bool operator==(const WeightPacking &o) const;
};

/// The packed bytes of a constant's row-major bytes.
llvm::SmallVector<char> packWeights(llvm::ArrayRef<char> source,
                                    const WeightPacking &packing);

} // namespace pascaline
