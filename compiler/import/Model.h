// Model.h - an ONNX model as plain structs.
//
// Only ModelReader.cpp sees protobuf; everything else reads these. Strings and
// arrays point into the message that the Model keeps alive. Nothing here has
// been checked beyond being well-formed protobuf.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pascaline::importer {

/// A TensorProto. Values are in one of the arrays, in `raw`, or in a file.
struct Tensor {
  llvm::StringRef name;
  int32_t type = 0;
  llvm::ArrayRef<int64_t> dims;
  bool hasRaw = false;
  llvm::StringRef raw;
  llvm::ArrayRef<float> floats;
  llvm::ArrayRef<int32_t> int32s;
  llvm::ArrayRef<int64_t> int64s;
  llvm::ArrayRef<double> doubles;
  llvm::ArrayRef<uint64_t> uint64s;
  size_t strings = 0;
  bool segmented = false;
  bool external = false;
  std::vector<std::pair<llvm::StringRef, llvm::StringRef>> externalData;
};

/// A SparseTensorProto in coordinate form.
struct SparseTensor {
  Tensor values;
  Tensor indices;
  llvm::ArrayRef<int64_t> dims;
};

/// The letters of the operator table: i f s t g of one, I F S T G of several,
/// p for a sparse tensor, ? for what no operator here takes.
struct NodeAttribute {
  llvm::StringRef name;
  llvm::StringRef reference; // of a function's attribute, when not empty
  char kind = '?';
  float f = 0;
  int64_t i = 0;
  llvm::StringRef s;
  llvm::ArrayRef<float> floats;
  llvm::ArrayRef<int64_t> ints;
  std::vector<llvm::StringRef> strings;
  std::shared_ptr<Tensor> tensor;
};

struct Node {
  llvm::StringRef name, op, domain, overload;
  std::vector<llvm::StringRef> inputs, outputs;
  std::vector<NodeAttribute> attributes;
  /// Every name that is read or made inside the node's subgraphs.
  std::vector<llvm::StringRef> innerReads, innerMakes;
};

struct Dim {
  std::optional<int64_t> value;
  llvm::StringRef param;
};

struct ValueInfo {
  llvm::StringRef name;
  /// "tensor", or what the type is instead ("sequence", "map", "no type"...).
  llvm::StringRef kind;
  int32_t type = 0;
  bool hasShape = false;
  std::vector<Dim> dims;
};

struct OpsetImport {
  llvm::StringRef domain;
  int64_t version = 0;
};

struct Graph {
  std::vector<Node> nodes;
  std::vector<Tensor> initializers;
  std::vector<SparseTensor> sparseInitializers;
  std::vector<ValueInfo> inputs, outputs;
};

struct Function {
  llvm::StringRef name, domain, overload;
  std::vector<llvm::StringRef> inputs, outputs, attributes;
  std::vector<NodeAttribute> defaults;
  std::vector<Node> nodes;
  std::vector<OpsetImport> opsets;
};

struct Model {
  int64_t irVersion = 0;
  std::vector<OpsetImport> opsets;
  Graph graph;
  std::vector<Function> functions;
  std::shared_ptr<void> message; // what everything above points into
};

/// Parses a model; null and a sentence without the file's name on failure.
std::unique_ptr<Model> readModel(llvm::StringRef bytes, std::string &error);

/// "float32" for 1: an ONNX element type's name, or "type 999".
std::string elementTypeName(int32_t type);

/// A name that came from outside, for a message: quoted, control characters
/// escaped, cut when it is long.
std::string quoted(llvm::StringRef name);

/// The same without quotes.
std::string printable(llvm::StringRef name);

} // namespace pascaline::importer
