// Tensors.h - values of the model's tensors, checked.
//
// A tensor's elements are in a typed field, in raw bytes or in a file of the
// model's folder. Sizes are compared before anything is allocated. Errors are
// sentences without the tensor's name.
//
// Tests: test/import/tensors.test, external-data.test.
#pragma once

#include "compiler/import/Model.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace pascaline::importer {

/// The most bytes that the importer computes for a constant of its own (a
/// dense copy of a sparse tensor, a range, a mask).
inline constexpr int64_t kMadeBytes = 256 << 20;

/// Why no tensor of this shape may exist ("has ..."), or an empty string. Sizes
/// are bounded by what kernels can index, the rank by what a model can mean.
std::string shapeProblem(llvm::ArrayRef<int64_t> shape);

/// The dialect's type for an ONNX element type, or null.
mlir::Type elementType(mlir::MLIRContext *context, int32_t type);

/// Reads tensors; `folder` is where external data may lie, empty for nowhere.
class TensorReader {
public:
  TensorReader(mlir::MLIRContext *context, std::string folder)
      : context(context), folder(std::move(folder)) {}

  /// Null and `error` when the tensor is damaged or of a type that is not
  /// supported; `unsupported` tells which.
  mlir::ElementsAttr read(const Tensor &tensor, std::string &error,
                          bool &unsupported) const;
  mlir::ElementsAttr read(const SparseTensor &tensor, std::string &error,
                          bool &unsupported) const;

private:
  /// Whether `bytes` more fit into this machine; constants are held in memory.
  bool reserve(uint64_t bytes, std::string &error) const;

  mlir::MLIRContext *context;
  std::string folder;
  mutable uint64_t taken = 0;
};

/// Reads exactly `bytes.size()` bytes of a tensor's external data into `bytes`.
/// The file must be a regular one inside `folder` that no other name links to.
bool readExternalData(const Tensor &tensor, llvm::StringRef folder,
                      llvm::MutableArrayRef<char> bytes, std::string &error);

/// Whether the file behind a tensor holds `bytes` bytes at its offset; checked
/// before memory for them is taken.
bool checkExternalData(const Tensor &tensor, llvm::StringRef folder,
                       uint64_t bytes, std::string &error);

} // namespace pascaline::importer
