// Tensors.cpp - a TensorProto's elements as a constant's value.
#include "compiler/import/Tensors.h"
#include "compiler/import/Text.h"
#include "compiler/ir/Constants.h"
#include "compiler/ir/Types.h"

#include "mlir/IR/BuiltinTypes.h"

#include <cstring>
#include <unistd.h>

using namespace mlir;

namespace pascaline::importer {
namespace {

// Element types by ONNX number, as in TensorProto.DataType.
enum OnnxType : int32_t {
  kFloat = 1,
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kInt32,
  kInt64,
  kString,
  kBool,
  kFloat16,
  kDouble,
  kUint32,
  kUint64,
  kBfloat16 = 16
};

// The elements of a typed field, narrowed to the stored width.
template <typename To, typename From>
void append(ArrayRef<From> from, SmallVectorImpl<char> &bytes) {
  bytes.resize_for_overwrite(from.size() * sizeof(To));
  for (size_t i = 0; i < from.size(); ++i) {
    To value = static_cast<To>(from[i]);
    std::memcpy(bytes.data() + i * sizeof(To), &value, sizeof(To));
  }
}

// How many values the typed field that belongs to the type has.
size_t fieldSize(const Tensor &tensor) {
  switch (tensor.type) {
  case kFloat:
    return tensor.floats.size();
  case kInt64:
    return tensor.int64s.size();
  case kDouble:
    return tensor.doubles.size();
  case kUint32:
  case kUint64:
    return tensor.uint64s.size();
  default:
    return tensor.int32s.size();
  }
}

void fieldBytes(const Tensor &tensor, SmallVectorImpl<char> &bytes) {
  switch (tensor.type) {
  case kFloat:
    return append<float>(tensor.floats, bytes);
  case kInt64:
    return append<int64_t>(tensor.int64s, bytes);
  case kDouble:
    return append<double>(tensor.doubles, bytes);
  case kUint32:
    return append<uint32_t>(tensor.uint64s, bytes);
  case kUint64:
    return append<uint64_t>(tensor.uint64s, bytes);
  case kInt32:
    return append<int32_t>(tensor.int32s, bytes);
  case kUint16:
  case kInt16:
  case kFloat16:
  case kBfloat16:
    return append<uint16_t>(tensor.int32s, bytes);
  default:
    return append<uint8_t>(tensor.int32s, bytes);
  }
}

// The type that the tensor says it has, its sizes checked.
RankedTensorType declaredType(MLIRContext *context, int32_t type,
                              ArrayRef<int64_t> dims, std::string &error,
                              bool &unsupported) {
  Type element = elementType(context, type);
  if (!element) {
    unsupported = true;
    error = cat("element type ", elementTypeName(type), " is not supported");
    return {};
  }
  error = shapeProblem(dims);
  if (!error.empty())
    return {};
  return RankedTensorType::get(dims, element);
}

} // namespace

std::string shapeProblem(ArrayRef<int64_t> shape) {
  constexpr size_t kRank = 64;
  if (shape.size() > kRank)
    return cat("has rank ", shape.size(), ", more than the limit of ", kRank);
  for (int64_t dim : shape)
    if (dim < 0)
      return cat("has a negative dimension in its shape ", listText(shape));
  if (!elementCount(shape))
    return cat("has shape ", listText(shape),
               ", larger than the limit of 2147483647 elements");
  return "";
}

Type elementType(MLIRContext *context, int32_t type) {
  auto integer = [&](unsigned width, bool isSigned = true) {
    return IntegerType::get(context, width,
                            isSigned ? IntegerType::Signless
                                     : IntegerType::Unsigned);
  };
  switch (type) {
  case kFloat:
    return FloatType::getF32(context);
  case kUint8:
    return integer(8, false);
  case kInt8:
    return integer(8);
  case kUint16:
    return integer(16, false);
  case kInt16:
    return integer(16);
  case kInt32:
    return integer(32);
  case kInt64:
    return integer(64);
  case kBool:
    return integer(1);
  case kFloat16:
    return FloatType::getF16(context);
  case kDouble:
    return FloatType::getF64(context);
  case kUint32:
    return integer(32, false);
  case kUint64:
    return integer(64, false);
  case kBfloat16:
    return FloatType::getBF16(context);
  default:
    return {};
  }
}

bool TensorReader::reserve(uint64_t bytes, std::string &error) const {
  // A sparse file can pretend to any size, and the tensor is copied once.
  auto memory = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  taken += bytes;
  if (taken <= memory / 2)
    return true;
  error = cat("brings the constants to ", taken,
              " bytes, more than half of this machine's memory of ", memory);
  return false;
}

ElementsAttr TensorReader::read(const Tensor &tensor, std::string &error,
                                bool &unsupported) const {
  unsupported = false;
  RankedTensorType type =
      declaredType(context, tensor.type, tensor.dims, error, unsupported);
  if (!type)
    return {};
  if (tensor.segmented) {
    unsupported = true;
    error = "is stored in segments, which no exporter writes";
    return {};
  }
  size_t count = static_cast<size_t>(*elementCount(tensor.dims));
  size_t size =
      count * static_cast<size_t>(elementBytes(type.getElementType()));

  SmallVector<char> bytes;
  ArrayRef<char> view;
  if (tensor.external) {
    if (!checkExternalData(tensor, folder, size, error) ||
        !reserve(size, error))
      return {};
    bytes.resize_for_overwrite(size);
    if (!readExternalData(tensor, folder, bytes, error))
      return {};
    view = bytes;
  } else if (tensor.hasRaw) {
    if (tensor.raw.size() != size) {
      error = cat("has ", tensor.raw.size(), " bytes of data where ",
                  typeText(type), " takes ", size);
      return {};
    }
    view = ArrayRef<char>(tensor.raw.data(), tensor.raw.size());
  } else {
    if (fieldSize(tensor) != count) {
      error = cat("has ", fieldSize(tensor), " values where ", typeText(type),
                  " takes ", count, " elements");
      return {};
    }
    fieldBytes(tensor, bytes);
    view = bytes;
  }

  // A bool is one byte, and any byte but 0 is true.
  if (type.getElementType().isInteger(1)) {
    SmallVector<char> normal(view);
    for (char &value : normal)
      value = value != 0;
    return makeElements(type, normal);
  }
  return makeElements(type, view);
}

ElementsAttr TensorReader::read(const SparseTensor &sparse, std::string &error,
                                bool &unsupported) const {
  RankedTensorType type = declaredType(context, sparse.values.type, sparse.dims,
                                       error, unsupported);
  if (!type)
    return {};
  int64_t width = elementBytes(type.getElementType());
  int64_t count = *elementCount(sparse.dims);
  if (count > kMadeBytes / width) {
    error =
        cat("is sparse and would take ", count * width,
            " bytes as a dense tensor, more than the limit of ", kMadeBytes);
    return {};
  }
  ElementsAttr values = read(sparse.values, error, unsupported);
  if (!values)
    return {};
  ElementsAttr indices = read(sparse.indices, error, unsupported);
  if (!indices) {
    error = "has sparse indices that are damaged: the tensor of them " + error;
    return {};
  }
  ArrayRef<int64_t> valuesShape = values.getShapedType().getShape();
  ArrayRef<int64_t> indicesShape = indices.getShapedType().getShape();
  int64_t rank = static_cast<int64_t>(sparse.dims.size());
  int64_t stored = values.getNumElements();
  bool linear = indicesShape.size() == 1;
  bool agrees =
      valuesShape.size() == 1 && indices.getElementType().isInteger(64) &&
      (linear || indicesShape.size() == 2) && indicesShape[0] == stored &&
      (linear || indicesShape[1] == rank);
  if (!agrees) {
    error =
        cat("is sparse with values ", dimsText(valuesShape), " and indices ",
            dimsText(indicesShape), " of dims ", listText(sparse.dims),
            "; n values take n or nx", rank, " indices of int64");
    return {};
  }

  SmallVector<char> from = *elementBytes(values);
  SmallVector<char> where = *elementBytes(indices);
  SmallVector<char> dense(count * width, 0);
  int64_t last = -1;
  for (int64_t i = 0; i < stored; ++i) {
    int64_t place = 0;
    for (int64_t axis = 0; axis < (linear ? 1 : rank); ++axis) {
      int64_t extent = linear ? count : sparse.dims[axis], index;
      std::memcpy(&index, where.data() + (linear ? i : i * rank + axis) * 8, 8);
      if (index < 0 || index >= extent) {
        error = cat("has sparse index ", index, ", outside 0 to ", extent - 1);
        return {};
      }
      place = place * extent + index;
    }
    if (place <= last) {
      error = "has sparse indices that are not in ascending order";
      return {};
    }
    last = place;
    std::memcpy(dense.data() + place * width, from.data() + i * width, width);
  }
  return makeElements(type, dense);
}

} // namespace pascaline::importer
