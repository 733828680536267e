// Windows.cpp - see the header.

#include "compiler/kernels/Windows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace pascaline {

WindowDims windowDims(ArrayRef<int64_t> x, ArrayRef<int64_t> y,
                      ArrayRef<int64_t> window, ArrayRef<int64_t> strides,
                      ArrayRef<int64_t> dilations,
                      ArrayRef<int64_t> padsBegin) {
  WindowDims dims;
  size_t rank = window.size();
  for (size_t i = 0; i < rank; ++i)
    dims[dims.size() - rank + i] = {x[2 + i],   y[2 + i],     window[i],
                                    strides[i], dilations[i], padsBegin[i]};
  return dims;
}

void chooseTile(WindowDims &dims, int64_t planes, int64_t most,
                int64_t threads) {
  auto fits = [&](WindowDim &dim, int64_t tile) {
    if (dim.out % tile != 0)
      return false;
    int64_t before = std::exchange(dim.tile, tile);
    int64_t size = dims[0].tile * dims[1].tile * dims[2].tile;
    if (size <= most && planes * planeTiles(dims) >= threads)
      return true;
    dim.tile = before;
    return false;
  };
  // Four along the row make a 128-bit store; odd ones suit maps of 7, 14, 5.
  for (int64_t tile : {4, 2, 7, 5, 3})
    if (fits(dims[2], tile))
      break;
  for (int64_t tile : {4, 2, 3})
    if (fits(dims[1], tile))
      break;
}

int64_t planeOutputs(const WindowDims &dims) {
  return dims[0].out * dims[1].out * dims[2].out;
}

int64_t planeTiles(const WindowDims &dims) {
  return planeOutputs(dims) / (dims[0].tile * dims[1].tile * dims[2].tile);
}

WindowTile WindowTile::of(IndexBuilder &indices, const WindowDims &dims,
                          const AffineIndex &number, int64_t lanes) {
  WindowTile tile;
  AffineIndex rest = indices.divide(number, lanes);
  for (int i = 2; i >= 0; --i) {
    int64_t tiles = dims[i].out / dims[i].tile;
    tile.first[i] = indices.modulo(rest, tiles) * dims[i].tile;
    rest = indices.divide(rest, tiles);
  }
  tile.plane = rest * lanes + indices.modulo(number, lanes);
  return tile;
}

std::vector<WindowOffset> tapOffsets(const WindowOffset &taps) {
  std::vector<WindowOffset> offsets;
  for (int64_t d = 0; d < taps[0]; ++d)
    for (int64_t h = 0; h < taps[1]; ++h)
      for (int64_t w = 0; w < taps[2]; ++w)
        offsets.push_back({d, h, w});
  return offsets;
}

std::vector<WindowOffset> tileOffsets(const WindowDims &dims) {
  return tapOffsets({dims[0].tile, dims[1].tile, dims[2].tile});
}

WindowOffset underTap(const WindowDims &dims, const WindowOffset &output,
                      const WindowOffset &tap) {
  WindowOffset offset;
  for (int i = 0; i < 3; ++i)
    offset[i] = output[i] * dims[i].stride + tap[i] * dims[i].dilation;
  return offset;
}

std::array<AffineIndex, 3>
windowStart(const WindowDims &dims, const WindowTile &tile,
            const std::array<AffineIndex, 3> &firstTap) {
  std::array<AffineIndex, 3> start;
  for (int i = 0; i < 3; ++i)
    start[i] = tile.first[i] * dims[i].stride + firstTap[i] * dims[i].dilation +
               AffineIndex(-dims[i].begin);
  return start;
}

SmallVector<Value> forEachTaps(
    KernelBuilder &b, ExpressionEmitter &emitter, const WindowDims &dims,
    int64_t most, SmallVector<Value> carried,
    llvm::function_ref<SmallVector<Value>(const std::array<AffineIndex, 3> &,
                                          const WindowOffset &,
                                          ArrayRef<Value>)>
        body) {
  WindowOffset taps = {1, 1, 1};
  int64_t rounds = 1;
  for (int i = 2; i >= 0; --i) {
    if (rounds == 1 && dims[i].window <= most) {
      taps[i] = dims[i].window;
      most /= dims[i].window;
    } else {
      rounds *= dims[i].window;
    }
  }
  if (rounds == 1)
    return body({}, taps, carried);
  SmallVector<Value> initial = {b.i32(0)};
  llvm::append_range(initial, carried);
  carried = b.doWhile(initial, [&](ValueRange values) {
    ExpressionEmitter::Scope scope(emitter);
    IndexBuilder &indices = emitter.index();
    AffineIndex round = indices.variable(values[0], rounds);
    std::array<AffineIndex, 3> firstTap;
    for (int i = 2; i >= 0; --i) {
      int64_t looped = dims[i].window / taps[i];
      firstTap[i] = indices.modulo(round, looped);
      round = indices.divide(round, looped);
    }
    SmallVector<Value> current(values.begin() + 1, values.end());
    KernelBuilder::Next next;
    SmallVector<Value> results = body(firstTap, taps, current);
    Value following = b.add(values[0], 1);
    next.again = b.lessThan(following, rounds);
    next.values = {following};
    llvm::append_range(next.values, results);
    return next;
  });
  carried.erase(carried.begin());
  return carried;
}

std::vector<AffineIndex> tileOutputs(const WindowDims &dims,
                                     const WindowTile &tile) {
  std::vector<AffineIndex> outputs;
  for (const WindowOffset &offset : tileOffsets(dims)) {
    AffineIndex sum = tile.plane;
    for (int i = 0; i < 3; ++i)
      sum = sum * dims[i].out + tile.first[i] + AffineIndex(offset[i]);
    outputs.push_back(sum);
  }
  return outputs;
}

const WindowReader::Place &WindowReader::place(unsigned dimension,
                                               int64_t offset) {
  auto [entry, isNew] = places[dimension].try_emplace(offset);
  Place &place = entry->second;
  if (!isNew)
    return place;
  int64_t in = dims[dimension].in;
  place.index = start[dimension] + AffineIndex(offset);
  auto [low, high] = emitter.index().range(place.index);
  if (low >= 0 && high < in)
    return place;
  // As an unsigned number a place before the start is a large one, so one
  // comparison and one minimum serve both ends.
  Value raw = emitter.index().materialize(place.index);
  place.valid = b.lessThanUnsigned(raw, b.i32(in));
  Value inside = b.createOrFold<arith::MinUIOp>(raw, b.i32(in - 1));
  place.index = emitter.index().variable(inside, in);
  return place;
}

SmallVector<Value> WindowReader::read(ArrayRef<WindowOffset> offsets) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(x.getType()).getShape();
  SmallVector<WindowOffset> missing;
  std::vector<TensorIndex> at;
  for (const WindowOffset &offset : offsets) {
    if (!known.try_emplace(offset).second)
      continue;
    AffineIndex sum = plane;
    for (unsigned i = 0; i < 3; ++i)
      sum = sum * dims[i].in + place(i, offset[i]).index;
    missing.push_back(offset);
    at.push_back(TensorIndex::linear(shape, sum));
  }
  if (!missing.empty())
    for (auto [offset, value] : llvm::zip(missing, emitter.evaluate(x, at))) {
      Value valid;
      for (unsigned i = 0; i < 3; ++i)
        valid = b.both(valid, place(i, offset[i]).valid);
      known[offset] = valid ? b.select(valid, value, padding) : value;
    }
  SmallVector<Value> result;
  for (const WindowOffset &offset : offsets)
    result.push_back(known[offset]);
  return result;
}

} // namespace pascaline
