// ModelReader.cpp - protobuf to the structs of Model.h.
//
// The only file that includes the generated classes. Parsing is bounded: sizes
// by the file, depth by kNesting. Any byte string ends in a Model or a
// sentence.
#include "compiler/import/Model.h"

#include "compiler/import/onnx-ml.pb.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

using llvm::StringRef;

namespace pascaline::importer {
namespace {

// Messages within messages; a subgraph costs three.
constexpr int kNesting = 100;

template <typename T, typename Field>
llvm::ArrayRef<T> arrayOf(const Field &field) {
  return llvm::ArrayRef<T>(field.data(), static_cast<size_t>(field.size()));
}

template <typename Field> std::vector<StringRef> stringsOf(const Field &field) {
  std::vector<StringRef> strings;
  strings.reserve(field.size());
  for (const std::string &text : field)
    strings.push_back(text);
  return strings;
}

/// "ai.onnx" and "" are the same domain; "" stands for both.
StringRef domainOf(StringRef domain) {
  return domain == "ai.onnx" ? StringRef() : domain;
}

Tensor convert(const onnx::TensorProto &from) {
  Tensor to;
  to.name = from.name();
  to.type = from.data_type();
  to.dims = arrayOf<int64_t>(from.dims());
  to.hasRaw = from.has_raw_data();
  to.raw = from.raw_data();
  to.floats = arrayOf<float>(from.float_data());
  to.int32s = arrayOf<int32_t>(from.int32_data());
  to.int64s = arrayOf<int64_t>(from.int64_data());
  to.doubles = arrayOf<double>(from.double_data());
  to.uint64s = arrayOf<uint64_t>(from.uint64_data());
  to.strings = from.string_data_size();
  to.segmented = from.has_segment();
  to.external = from.data_location() == onnx::TensorProto::EXTERNAL;
  for (const onnx::StringStringEntryProto &entry : from.external_data())
    to.externalData.emplace_back(entry.key(), entry.value());
  return to;
}

char kindOf(const onnx::AttributeProto &from) {
  switch (from.type()) {
  case onnx::AttributeProto::FLOAT:
    return 'f';
  case onnx::AttributeProto::INT:
    return 'i';
  case onnx::AttributeProto::STRING:
    return 's';
  case onnx::AttributeProto::TENSOR:
    return from.has_t() ? 't' : '?';
  case onnx::AttributeProto::GRAPH:
    return 'g';
  case onnx::AttributeProto::SPARSE_TENSOR:
    return 'p';
  case onnx::AttributeProto::FLOATS:
    return 'F';
  case onnx::AttributeProto::INTS:
    return 'I';
  case onnx::AttributeProto::STRINGS:
    return 'S';
  case onnx::AttributeProto::TENSORS:
    return 'T';
  case onnx::AttributeProto::GRAPHS:
    return 'G';
  default:
    break;
  }
  // Models of the first IR versions leave the type out.
  if (from.has_f())
    return 'f';
  if (from.has_i())
    return 'i';
  if (from.has_s())
    return 's';
  if (from.has_t())
    return 't';
  if (from.has_g())
    return 'g';
  if (from.floats_size())
    return 'F';
  if (from.ints_size())
    return 'I';
  if (from.strings_size())
    return 'S';
  return '?';
}

// Names that a subgraph reads and makes, its own subgraphs' included. The
// recursion is as deep as the parser let the message be.
void collectNames(const onnx::GraphProto &graph, Node &node) {
  for (const onnx::NodeProto &inner : graph.node()) {
    for (const std::string &name : inner.input())
      node.innerReads.push_back(name);
    for (const std::string &name : inner.output())
      node.innerMakes.push_back(name);
    for (const onnx::AttributeProto &attribute : inner.attribute()) {
      if (attribute.has_g())
        collectNames(attribute.g(), node);
      for (const onnx::GraphProto &subgraph : attribute.graphs())
        collectNames(subgraph, node);
    }
  }
  for (const onnx::ValueInfoProto &output : graph.output())
    node.innerReads.push_back(output.name());
}

NodeAttribute convert(const onnx::AttributeProto &from) {
  NodeAttribute to;
  to.name = from.name();
  to.reference = from.ref_attr_name();
  to.kind = kindOf(from);
  to.f = from.f();
  to.i = from.i();
  to.s = from.s();
  to.floats = arrayOf<float>(from.floats());
  to.ints = arrayOf<int64_t>(from.ints());
  to.strings = stringsOf(from.strings());
  if (from.has_t())
    to.tensor = std::make_shared<Tensor>(convert(from.t()));
  return to;
}

Node convert(const onnx::NodeProto &from) {
  Node to;
  to.name = from.name();
  to.op = from.op_type();
  to.domain = domainOf(from.domain());
  to.overload = from.overload();
  to.inputs = stringsOf(from.input());
  to.outputs = stringsOf(from.output());
  to.attributes.reserve(from.attribute_size());
  for (const onnx::AttributeProto &attribute : from.attribute()) {
    to.attributes.push_back(convert(attribute));
    if (attribute.has_g())
      collectNames(attribute.g(), to);
    for (const onnx::GraphProto &graph : attribute.graphs())
      collectNames(graph, to);
  }
  return to;
}

ValueInfo convert(const onnx::ValueInfoProto &from) {
  ValueInfo to;
  to.name = from.name();
  switch (from.type().value_case()) {
  case onnx::TypeProto::kTensorType:
    to.kind = "tensor";
    break;
  case onnx::TypeProto::kSequenceType:
    to.kind = "sequence";
    break;
  case onnx::TypeProto::kMapType:
    to.kind = "map";
    break;
  case onnx::TypeProto::kOptionalType:
    to.kind = "optional";
    break;
  case onnx::TypeProto::kSparseTensorType:
    to.kind = "sparse tensor";
    break;
  case onnx::TypeProto::kOpaqueType:
    to.kind = "opaque";
    break;
  default:
    to.kind = "no type";
    break;
  }
  const onnx::TypeProto::Tensor &tensor = from.type().tensor_type();
  to.type = tensor.elem_type();
  to.hasShape = tensor.has_shape();
  for (const onnx::TensorShapeProto::Dimension &from : tensor.shape().dim()) {
    Dim dim;
    if (from.value_case() == onnx::TensorShapeProto::Dimension::kDimValue)
      dim.value = from.dim_value();
    else
      dim.param = from.dim_param();
    to.dims.push_back(dim);
  }
  return to;
}

template <typename Field>
std::vector<OpsetImport> convertOpsets(const Field &from) {
  std::vector<OpsetImport> to;
  for (const onnx::OperatorSetIdProto &opset : from)
    to.push_back({domainOf(opset.domain()), opset.version()});
  return to;
}

Function convert(const onnx::FunctionProto &from) {
  Function to;
  to.name = from.name();
  to.domain = domainOf(from.domain());
  to.overload = from.overload();
  to.inputs = stringsOf(from.input());
  to.outputs = stringsOf(from.output());
  to.attributes = stringsOf(from.attribute());
  for (const onnx::AttributeProto &attribute : from.attribute_proto())
    to.defaults.push_back(convert(attribute));
  for (const onnx::NodeProto &node : from.node())
    to.nodes.push_back(convert(node));
  to.opsets = convertOpsets(from.opset_import());
  return to;
}

void convertGraph(const onnx::GraphProto &from, Graph &to) {
  to.nodes.reserve(from.node_size());
  for (const onnx::NodeProto &node : from.node())
    to.nodes.push_back(convert(node));
  to.initializers.reserve(from.initializer_size());
  for (const onnx::TensorProto &tensor : from.initializer())
    to.initializers.push_back(convert(tensor));
  for (const onnx::SparseTensorProto &sparse : from.sparse_initializer())
    to.sparseInitializers.push_back({convert(sparse.values()),
                                     convert(sparse.indices()),
                                     arrayOf<int64_t>(sparse.dims())});
  for (const onnx::ValueInfoProto &info : from.input())
    to.inputs.push_back(convert(info));
  for (const onnx::ValueInfoProto &info : from.output())
    to.outputs.push_back(convert(info));
}

} // namespace

std::unique_ptr<Model> readModel(StringRef bytes, std::string &error) {
  if (bytes.size() > INT32_MAX) {
    error = "the file has " + std::to_string(bytes.size()) +
            " bytes and protobuf reads at most 2147483647; save the model with "
            "external data";
    return nullptr;
  }
  auto message = std::make_shared<onnx::ModelProto>();
  google::protobuf::io::ArrayInputStream array(bytes.data(),
                                               static_cast<int>(bytes.size()));
  google::protobuf::io::CodedInputStream stream(&array);
  stream.SetTotalBytesLimit(INT32_MAX);
  stream.SetRecursionLimit(kNesting);
  if (!message->ParseFromCodedStream(&stream) ||
      !stream.ConsumedEntireMessage()) {
    error = "not a readable ONNX model: the protobuf message is damaged, cut "
            "short or nested more than " +
            std::to_string(kNesting) + " messages deep";
    return nullptr;
  }
  // Any short text may be valid protobuf; a model has at least these.
  if (!message->has_ir_version() || !message->has_graph()) {
    error = std::string("not an ONNX model: it has no ") +
            (message->has_ir_version() ? "graph" : "IR version");
    return nullptr;
  }
  if (message->ir_version() < 1 ||
      message->ir_version() > onnx::Version::IR_VERSION) {
    error = "the model has IR version " +
            std::to_string(message->ir_version()) + " and versions 1 to " +
            std::to_string(onnx::Version::IR_VERSION) +
            " are known; export for an older one";
    return nullptr;
  }

  auto model = std::make_unique<Model>();
  model->irVersion = message->ir_version();
  model->opsets = convertOpsets(message->opset_import());
  // Before IR version 3 there was one operator set and no import of it.
  if (model->irVersion < 3 && model->opsets.empty())
    model->opsets.push_back({"", 1});
  convertGraph(message->graph(), model->graph);
  for (const onnx::FunctionProto &function : message->functions())
    model->functions.push_back(convert(function));
  model->message = std::move(message);
  return model;
}

std::string elementTypeName(int32_t type) {
  static const char *const names[] = {
      "undefined",      "float32",      "uint8",          "int8",
      "uint16",         "int16",        "int32",          "int64",
      "string",         "bool",         "float16",        "float64",
      "uint32",         "uint64",       "complex64",      "complex128",
      "bfloat16",       "float8e4m3fn", "float8e4m3fnuz", "float8e5m2",
      "float8e5m2fnuz", "uint4",        "int4",           "float4e2m1",
      "float8e8m0",     "uint2",        "int2",           "float6e2m3",
      "float6e3m2"};
  if (type >= 0 && static_cast<size_t>(type) < std::size(names))
    return names[type];
  return "type " + std::to_string(type);
}

std::string printable(StringRef name) {
  constexpr size_t kShown = 120;
  std::string text;
  for (unsigned char c : name.take_front(kShown)) {
    if (c >= 0x20 && c != 0x7f) {
      text.push_back(static_cast<char>(c));
      continue;
    }
    static const char hex[] = "0123456789abcdef";
    text += {'\\', 'x', hex[c >> 4], hex[c & 15]};
  }
  if (name.size() > kShown)
    text += "... (" + std::to_string(name.size()) + " bytes)";
  return text;
}

std::string quoted(StringRef name) { return '"' + printable(name) + '"'; }

} // namespace pascaline::importer
