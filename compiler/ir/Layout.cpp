// Layout.cpp - see the header.
#include "compiler/ir/Layout.h"

#include "compiler/ir/Dialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace pascaline {

static LayoutAttr layoutOf(RankedTensorType type) {
  return dyn_cast_if_present<LayoutAttr>(type.getEncoding());
}

int64_t haloOf(RankedTensorType type, unsigned dim) {
  LayoutAttr layout = layoutOf(type);
  return layout && !layout.getHalo().empty() ? layout.getHalo()[dim] : 0;
}

const MemoryAxis *MemoryLayout::find(unsigned dim,
                                     MemoryAxis::Part part) const {
  auto axis = llvm::find_if(axes, [&](const MemoryAxis &axis) {
    return axis.dim == dim && axis.part == part;
  });
  return axis == axes.end() ? nullptr : axis;
}

MemoryLayout memoryLayout(RankedTensorType type) {
  MemoryLayout memory;
  LayoutAttr layout = layoutOf(type);
  if (layout && layout.getPack())
    memory.pack = layout.getPack();
  auto add = [&](unsigned dim) {
    int64_t extent = type.getDimSize(dim) + 2 * haloOf(type, dim);
    bool isPacked = memory.pack > 1 && dim == layout.getPacked();
    memory.axes.push_back(
        {dim, isPacked ? MemoryAxis::Slice : MemoryAxis::Whole,
         isPacked ? int64_t(llvm::divideCeil(extent, memory.pack)) : extent,
         0});
  };
  for (int64_t i = 0; i < type.getRank(); ++i)
    add(layout ? layout.getOrder()[i] : i);
  if (memory.pack > 1)
    memory.axes.push_back(
        {unsigned(layout.getPacked()), MemoryAxis::Lane, memory.pack, 0});
  for (MemoryAxis &axis : llvm::reverse(memory.axes)) {
    axis.stride = memory.elements;
    memory.elements *= axis.extent;
    memory.offset += haloOf(type, axis.dim) * axis.stride;
  }
  return memory;
}

} // namespace pascaline
