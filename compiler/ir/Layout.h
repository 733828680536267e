// Layout.h - where a tensor's elements lie in memory: the one place that says.
//
// A tensor's encoding (LayoutAttr; none is row-major) becomes a list of memory
// axes, so that the place of an element is a sum over them:
//
//   place = offset + sum of part(index[axis.dim]) * axis.stride
//
// where part is the index itself or, of a dimension that is packed by p, index
// / p on one axis and index % p on the innermost. Every kernel's loads and
// stores, an operand's strides, the bytes of a buffer and the place of its halo
// follow from this list.
//
//   1x64x56x56, packed 1, pack 4, halo [0, 0, 1, 1]:
//     n (1, 215296)  c / 4 (16, 13456)  h (58, 232)  w (58, 4)  c % 4 (4, 1)
//     offset 236: element (0, 0, 0, 0) lies behind a row and a pixel
//
// Test: test/compiler/LayoutTest.cpp
#pragma once

#include "mlir/IR/BuiltinTypes.h"

namespace pascaline {

struct MemoryAxis {
  enum Part {
    Whole, ///< the index
    Slice, ///< index / pack
    Lane,  ///< index % pack
  };
  unsigned dim;
  Part part;
  int64_t extent; ///< the halo included
  int64_t stride; ///< in elements
};

struct MemoryLayout {
  llvm::SmallVector<MemoryAxis> axes; ///< outermost first
  int64_t pack = 1;
  int64_t offset = 0;   ///< place of element (0, ..., 0)
  int64_t elements = 1; ///< of the buffer, padding and halo included

  /// The axis of a part of a dimension, or null.
  const MemoryAxis *find(unsigned dim, MemoryAxis::Part part) const;
};

MemoryLayout memoryLayout(mlir::RankedTensorType type);

/// Elements kept around a dimension on either side.
int64_t haloOf(mlir::RankedTensorType type, unsigned dim);

} // namespace pascaline
