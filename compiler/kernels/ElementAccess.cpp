// ElementAccess.cpp - ExpressionEmitter's loads and stores.
//
// Elements that lie side by side at an aligned place become one access of up
// to 128 bits. f16 is converted on the way in and out and bf16 by integer
// arithmetic, since sm_61 has no arithmetic worth using on either; bool is a
// byte in memory and i1 in registers. Loads become read-only ones
// (ld.global.nc) where the parameter is: no result lies in its place.

#include "compiler/ir/Types.h"
#include "compiler/kernels/ExpressionEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace pascaline {

/// The type of an element as loads and stores see it.
static Type storedType(Type element) {
  MLIRContext *context = element.getContext();
  if (element.isBF16())
    return IntegerType::get(context, 16);
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(context, std::max(8u, integer.getWidth()));
  return element;
}

Value ExpressionEmitter::toCompute(Value stored, Type element) {
  auto constant = [&](Type type, int64_t value) -> Value {
    return builder.create<arith::ConstantOp>(
        loc, builder.getIntegerAttr(type, value));
  };
  Type i32 = builder.getI32Type(), f32 = builder.getF32Type();
  if (element.isF16())
    return builder.create<arith::ExtFOp>(loc, f32, stored);
  if (element.isBF16()) {
    Value wide = builder.create<arith::ExtUIOp>(loc, i32, stored);
    Value bits = builder.create<arith::ShLIOp>(loc, wide, constant(i32, 16));
    return builder.create<arith::BitcastOp>(loc, f32, bits);
  }
  if (element.isInteger(1))
    return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, stored,
                                         constant(stored.getType(), 0));
  return stored;
}

Value ExpressionEmitter::toStored(Value computed, Type element) {
  auto constant = [&](int64_t value) -> Value {
    return builder.create<arith::ConstantIntOp>(loc, value, 32);
  };
  if (element.isF16())
    return builder.create<arith::TruncFOp>(loc, element, computed);
  if (element.isBF16()) {
    // Round to nearest even on the upper half; a NaN keeps a bit set.
    Value bits =
        builder.create<arith::BitcastOp>(loc, builder.getI32Type(), computed);
    Value high = builder.create<arith::ShRUIOp>(loc, bits, constant(16));
    Value odd = builder.create<arith::AndIOp>(loc, high, constant(1));
    Value bias = builder.create<arith::AddIOp>(loc, odd, constant(0x7fff));
    Value sum = builder.create<arith::AddIOp>(loc, bits, bias);
    Value rounded = builder.create<arith::ShRUIOp>(loc, sum, constant(16));
    Value quiet = builder.create<arith::OrIOp>(loc, high, constant(0x40));
    Value isNan = builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO,
                                                computed, computed);
    Value half = builder.create<arith::SelectOp>(loc, isNan, quiet, rounded);
    return builder.create<arith::TruncIOp>(loc, builder.getIntegerType(16),
                                           half);
  }
  if (element.isInteger(1))
    return builder.create<arith::ExtUIOp>(loc, builder.getI8Type(), computed);
  return computed;
}

/// How many elements from `first` on make one aligned access.
static size_t widthOf(const IndexBuilder &indices, ArrayRef<AffineIndex> at,
                      size_t first, int64_t bytes) {
  size_t width = std::max<int64_t>(16 / bytes, 1);
  for (; width > 1; width /= 2) {
    if (first + width > at.size() ||
        indices.multipleOf(at[first]) % int64_t(width) != 0)
      continue;
    bool together = true;
    for (size_t w = 1; w < width && together; ++w)
      together = at[first + w] == at[first] + AffineIndex(w);
    if (together)
      break;
  }
  return width;
}

/// The address of an element: what varies first, so that neighbours share it
/// and their constant becomes the instruction's offset.
Value ExpressionEmitter::address(Value pointer, Type stored,
                                 const AffineIndex &at) {
  // Not inbounds: without its constant a place may lie outside the buffer.
  auto offset = [&](Value base, const AffineIndex &by) -> Value {
    return builder.create<LLVM::GEPOp>(
        loc, pointer.getType(), stored, base,
        ArrayRef<LLVM::GEPArg>{indices.materialize(by)});
  };
  if (at.constant == 0 && at.isConstant())
    return pointer;
  if (at.isConstant() || at.constant == 0)
    return offset(pointer, at);
  Value base = offset(pointer, at + AffineIndex(-at.constant));
  return builder.create<LLVM::GEPOp>(
      loc, pointer.getType(), stored, base,
      ArrayRef<LLVM::GEPArg>{int32_t(at.constant)});
}

SmallVector<Value> ExpressionEmitter::load(Value pointer, Type element,
                                           ArrayRef<AffineIndex> at) {
  Type stored = storedType(element);
  int64_t bytes = elementBytes(element);
  SmallVector<Value> result;
  for (size_t first = 0; first < at.size();) {
    size_t width = widthOf(indices, at, first, bytes);
    Value from = address(pointer, stored, at[first]);
    Type type = width == 1 ? stored : VectorType::get(width, stored);
    Value loaded = builder.create<LLVM::LoadOp>(loc, type, from, bytes * width);
    for (size_t w = 0; w < width; ++w) {
      Value one = loaded;
      if (width > 1)
        one = builder.create<LLVM::ExtractElementOp>(
            loc, loaded, builder.create<arith::ConstantIntOp>(loc, w, 32));
      result.push_back(toCompute(one, element));
    }
    first += width;
  }
  return result;
}

void ExpressionEmitter::store(Value pointer, Type element,
                              ArrayRef<AffineIndex> at,
                              ArrayRef<Value> values) {
  Type stored = storedType(element);
  int64_t bytes = elementBytes(element);
  for (size_t first = 0; first < at.size();) {
    size_t width = widthOf(indices, at, first, bytes);
    Value all;
    if (width == 1) {
      all = toStored(values[first], element);
    } else {
      all = builder.create<LLVM::UndefOp>(loc, VectorType::get(width, stored));
      for (size_t w = 0; w < width; ++w)
        all = builder.create<LLVM::InsertElementOp>(
            loc, all, toStored(values[first + w], element),
            builder.create<arith::ConstantIntOp>(loc, w, 32));
    }
    Value to = address(pointer, stored, at[first]);
    if (storer)
      storer(all, to);
    else
      builder.create<LLVM::StoreOp>(loc, all, to, bytes * width);
    first += width;
  }
}

} // namespace pascaline
