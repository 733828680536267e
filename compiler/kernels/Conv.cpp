// Conv - convolution in one to three dimensions as a contraction.
//
// m is the output channel, n the output place, k runs over window and input
// channel, channels innermost, so that a stage of k mostly lies in one place of
// the window. Images and groups are the batch. Whatever the window, strides,
// dilations and padding, x is read in place (Operand.h); what lies outside is
// zero. A window of 1 without padding is a dense matrix.
//
// Shape and cost: contraction/Contraction.h.
// Golden: test/ptx/conv.mlir

#include "compiler/ir/Types.h"
#include "compiler/kernels/AffineIndex.h"
#include "compiler/kernels/Families.h"
#include "compiler/kernels/contraction/GroupContraction.h"

using namespace mlir;

namespace pascaline {

/// The axes of `count` channels, and the stride from one group of them to the
/// next.
static int64_t appendChannels(const StridedView &x, int64_t count,
                              SmallVector<Axis> &axes) {
  if (!x.packed) {
    axes.push_back({count, x.strides[1]});
    return count * x.strides[1];
  }
  axes.push_back({count / x.pack, x.sliceStride});
  axes.push_back({x.pack, x.strides[1]});
  return count / x.pack * x.sliceStride;
}

FailureOr<GroupContraction> planConv(FusedOp group) {
  auto conv = cast<ConvOp>(group.getAnchor());
  FailureOr<StridedView> x = viewOf(group, conv.getX());
  FailureOr<StridedView> w = viewOf(group, conv.getW());
  if (failed(x) || failed(w))
    return failure();
  ArrayRef<int64_t> y = conv.getY().getType().getShape();
  size_t spatial = y.size() - 2;
  int64_t groups = conv.getGroups();
  int64_t channels = x->shape[1] / groups, outputs = y[1] / groups;
  if (x->packed && (*x->packed != 1 || channels % x->pack != 0))
    return group.emitError()
           << "its input is packed by " << x->pack << " along dimension "
           << *x->packed << "; a convolution reads whole packs of the "
           << channels << " channels of a group";

  GroupContraction g;
  g.group = group;
  g.batch = {y[0], groups};
  g.m = outputs;
  g.n = 1;
  g.k = channels;

  Operand &image = g.b.operand;
  image.element = x->element;
  image.offset = x->offset;
  int64_t taps = 1;
  for (unsigned i = 0; i < spatial; ++i) {
    int64_t stride = x->strides[2 + i], step = conv.getStrides()[i];
    int64_t dilation = conv.getDilations()[i], pad = conv.getPadsBegin()[i];
    image.x.push_back({y[2 + i], step * stride});
    image.k.push_back({w->shape[2 + i], dilation * stride});
    // What lies in the halo is zero, as what the bounds keep out.
    int64_t halo = x->halo[2 + i];
    image.bounds.push_back(
        {i, i, step, dilation, halo - pad, x->shape[2 + i] + 2 * halo});
    image.offset -= pad * stride;
    g.n *= y[2 + i];
    taps *= w->shape[2 + i];
  }
  image.batchStrides = {x->strides[0], appendChannels(*x, channels, image.k)};
  g.k *= taps;
  g.b.view = *x;

  Operand &filter = g.a.operand;
  filter.element = w->element;
  filter.offset = w->offset;
  filter.batchStrides = {0, outputs * w->strides[0]};
  filter.x = {{outputs, w->strides[0]}};
  for (unsigned i = 0; i < spatial; ++i)
    filter.k.push_back({w->shape[2 + i], w->strides[2 + i]});
  filter.k.push_back({channels, w->strides[1]});
  g.a.view = *w;

  // Packing knows one stride for all taps: the filter's own layout has it.
  if (w->offset == 0 && w->strides.back() == 1 && w->strides[1] == taps) {
    WeightPacking packing;
    packing.elementBytes = elementBytes(filter.element);
    packing.groups = groups;
    packing.m = outputs;
    packing.taps = taps;
    packing.channels = channels;
    packing.groupStride = outputs * w->strides[0];
    packing.mStride = w->strides[0];
    packing.tapStride = 1;
    packing.cStride = taps;
    g.a.packing = packing;
    g.a.packedBatch = {0, 1};
  }

  g.rowDim = 1;
  int64_t n = g.n;
  g.row = [=](ArrayRef<AffineIndex> batch, AffineIndex m) {
    return ((batch[0] * groups + batch[1]) * outputs + m) * n;
  };
  return g;
}

FailureOr<GeneratedKernel> generateConv(FusedOp group, const Chip &chip) {
  FailureOr<GroupContraction> contraction = planConv(group);
  if (failed(contraction))
    return failure();
  return generateContraction(*contraction, chip);
}

} // namespace pascaline
