// Pad - a tensor with elements added around it.
//
// Shape:  as Pointwise, over the elements of the result; where the innermost
//         padded dimension lies further out, accesses stay 128-bit.
// Cost:   reading and writing once.
// Golden: test/ptx/pad.mlir

#include "compiler/ir/Dialect.h"
#include "compiler/ir/Types.h"
#include "compiler/kernels/Families.h"
#include "compiler/kernels/GroupKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace pascaline {

static constexpr int64_t kThreads = 256;

namespace {
/// A dimension of the tensor, or several neighbours without padding.
struct PadDim {
  int64_t in, out, low;
};

struct Source {
  AffineIndex index;
  Value valid; ///< null: always
};
} // namespace

static SmallVector<PadDim> mergedDims(PadOp pad) {
  SmallVector<PadDim> dims;
  bool mergeable = false;
  ArrayRef<int64_t> in = pad.getX().getType().getShape();
  ArrayRef<int64_t> out = pad.getY().getType().getShape();
  for (size_t i = 0; i < in.size(); ++i) {
    bool plain = in[i] == out[i];
    if (plain && mergeable) {
      dims.back().in *= in[i];
      dims.back().out *= out[i];
    } else {
      dims.push_back({in[i], out[i], pad.getLow()[i]});
    }
    mergeable = plain;
  }
  return dims;
}

/// Where an index of the result along a dimension reads from.
static Source sourceOf(KernelBuilder &b, IndexBuilder &indices, PadMode mode,
                       const PadDim &dim, const AffineIndex &out) {
  if (dim.in == dim.out)
    return {out, nullptr};
  AffineIndex shifted = out + AffineIndex(-dim.low);
  if (mode == PadMode::wrap) {
    // A multiple of the extent makes the index positive and changes nothing.
    int64_t whole = llvm::divideCeil(dim.low, dim.in) * dim.in;
    return {indices.modulo(shifted + AffineIndex(whole), dim.in), nullptr};
  }
  if (mode == PadMode::reflect && dim.in > 1) {
    // The mirrored tensor repeats after twice the extent less both ends.
    int64_t period = 2 * (dim.in - 1);
    int64_t whole = llvm::divideCeil(dim.low, period) * period;
    AffineIndex phase = indices.modulo(shifted + AffineIndex(whole), period);
    Value forward = indices.materialize(phase);
    Value back = b.sub(b.i32(period), forward);
    Value inside = b.createOrFold<arith::MinSIOp>(forward, back);
    return {indices.variable(inside, dim.in), nullptr};
  }
  Value raw = indices.materialize(shifted);
  if (mode == PadMode::constant) {
    Value inside = b.createOrFold<arith::MinUIOp>(raw, b.i32(dim.in - 1));
    return {indices.variable(inside, dim.in),
            b.lessThanUnsigned(raw, b.i32(dim.in))};
  }
  Value inside =
      b.minimum(b.createOrFold<arith::MaxSIOp>(raw, b.i32(0)), dim.in - 1);
  return {indices.variable(inside, dim.in), nullptr};
}

FailureOr<GeneratedKernel> generatePad(FusedOp group, const Chip &chip) {
  auto pad = cast<PadOp>(group.getAnchor());
  auto type = pad.getY().getType();
  int64_t count = type.getNumElements();
  int64_t width =
      std::min<int64_t>(4, 16 / elementBytes(type.getElementType()));
  while (count % width != 0)
    width /= 2;
  int64_t vectors = count / width;
  int64_t blocks = llvm::divideCeil(vectors, kThreads);

  GroupKernel kernel(group, kThreads);
  KernelBuilder &b = kernel.builder();
  ExpressionEmitter &emitter = kernel.emitter();
  IndexBuilder &indices = emitter.index();
  AffineIndex first = kernel.flatThread(vectors) * width;

  SmallVector<PadDim> dims = mergedDims(pad);
  // Neighbours at the same place along a dimension read from the same place,
  // and must be seen to.
  std::vector<std::vector<std::pair<AffineIndex, Source>>> known(dims.size());
  auto sourceAlong = [&](size_t d, const AffineIndex &out) {
    for (const auto &[index, source] : known[d])
      if (index == out)
        return source;
    known[d].push_back(
        {out, sourceOf(b, indices, pad.getMode(), dims[d], out)});
    return known[d].back().second;
  };
  std::vector<TensorIndex> from, to;
  SmallVector<Value> valid;
  for (int64_t w = 0; w < width; ++w) {
    AffineIndex rest = first + AffineIndex(w);
    to.push_back(TensorIndex::linear(type.getShape(), rest));
    AffineIndex place(0);
    Value inside;
    int64_t stride = 1;
    for (size_t d = dims.size(); d-- > 0;) {
      const PadDim &dim = dims[d];
      Source source = sourceAlong(d, indices.modulo(rest, dim.out));
      rest = indices.divide(rest, dim.out);
      place = place + source.index * stride;
      inside = b.both(inside, source.valid);
      stride *= dim.in;
    }
    from.push_back(TensorIndex::linear(pad.getX().getType().getShape(), place));
    valid.push_back(inside);
  }

  bool constant = pad.getMode() == PadMode::constant;
  Value fill;
  if (constant)
    fill =
        emitter.evaluate(pad.getFill(), TensorIndex::linear({}, AffineIndex(0)))
            .front();
  SmallVector<Value> values;
  if (countElements(pad.getX()) == 0) {
    values.assign(width, fill); // the verifier lets only constants pad nothing
  } else {
    values = emitter.evaluate(pad.getX(), from);
    for (auto [value, inside] : llvm::zip(values, valid))
      if (inside)
        value = b.select(inside, value, fill);
  }
  emitter.storeResults(to, values);
  return kernel.finish({blocks, 1, 1},
                       std::to_string(width) + " elements a thread");
}

} // namespace pascaline
