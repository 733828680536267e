// OpTable.cpp - finding an operator's row and checking a node against it.
#include "compiler/import/OpTable.h"
#include "compiler/import/Text.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"

using llvm::StringRef;

namespace pascaline::importer {
namespace {

using Table = llvm::StringMap<std::vector<const OpRow *>>;

Table makeTable() {
  Table table;
  for (llvm::ArrayRef<OpRow> rows :
       {arithmeticRows(), activationRows(), logicRows(), contractionRows(),
        convolutionRows(), poolingRows(), normalizationRows(), reductionRows(),
        shapeRows(), layoutRows(), selectionRows(), constantRows(),
        resizeRows(), einsumRows(), indexingRows()})
    for (const OpRow &row : rows)
      table[row.op].push_back(&row);
  return table;
}

// Operators of the specification that have no row yet, so that they are not
// called unknown.
bool isOnnxOperator(StringRef op) {
  static const char *const names[] = {"AffineGrid",
                                      "Attention",
                                      "Bernoulli",
                                      "BitCast",
                                      "BlackmanWindow",
                                      "CausalConvWithState",
                                      "CenterCropPad",
                                      "Col2Im",
                                      "Compress",
                                      "ConcatFromSequence",
                                      "ConvInteger",
                                      "CumProd",
                                      "DFT",
                                      "DeformConv",
                                      "DequantizeLinear",
                                      "Det",
                                      "DynamicQuantizeLinear",
                                      "GRU",
                                      "GridSample",
                                      "HammingWindow",
                                      "HannWindow",
                                      "If",
                                      "ImageDecoder",
                                      "LSTM",
                                      "LinearAttention",
                                      "Loop",
                                      "MatMulInteger",
                                      "MaxRoiPool",
                                      "MaxUnpool",
                                      "MelWeightMatrix",
                                      "Multinomial",
                                      "NegativeLogLikelihoodLoss",
                                      "NonMaxSuppression",
                                      "NonZero",
                                      "Optional",
                                      "OptionalGetElement",
                                      "OptionalHasElement",
                                      "QLinearConv",
                                      "QLinearMatMul",
                                      "QuantizeLinear",
                                      "RNN",
                                      "RandomNormal",
                                      "RandomNormalLike",
                                      "RandomUniform",
                                      "RandomUniformLike",
                                      "RegexFullMatch",
                                      "ReverseSequence",
                                      "RoiAlign",
                                      "RotaryEmbedding",
                                      "STFT",
                                      "Scan",
                                      "Scatter",
                                      "ScatterElements",
                                      "ScatterND",
                                      "SequenceAt",
                                      "SequenceConstruct",
                                      "SequenceEmpty",
                                      "SequenceErase",
                                      "SequenceInsert",
                                      "SequenceLength",
                                      "SequenceMap",
                                      "SoftmaxCrossEntropyLoss",
                                      "SplitToSequence",
                                      "StringConcat",
                                      "StringNormalizer",
                                      "StringSplit",
                                      "TensorScatter",
                                      "TfIdfVectorizer",
                                      "TopK",
                                      "Unique"};
  return llvm::is_contained(names, op);
}

const char *kindName(char kind) {
  switch (kind) {
  case 'i':
    return "an int";
  case 'f':
    return "a float";
  case 's':
    return "a string";
  case 't':
    return "a tensor";
  case 'g':
    return "a graph";
  case 'p':
    return "a sparse tensor";
  case 'I':
    return "ints";
  case 'F':
    return "floats";
  case 'S':
    return "strings";
  case 'T':
    return "tensors";
  case 'G':
    return "graphs";
  default:
    return "something without a kind";
  }
}

bool checkCount(StringRef what, size_t count, Arity arity, std::string &error) {
  if (count >= arity.least && count <= arity.most)
    return true;
  std::string takes = std::to_string(arity.least);
  if (arity.most == kAny)
    takes += " or more";
  else if (arity.most != arity.least)
    takes += " to " + std::to_string(arity.most);
  error = cat("has ", count, " ", what, " and takes ", takes);
  return false;
}

// An attribute without elements may be written as any list; exporters of old
// IR versions leave the kind out.
bool fits(const NodeAttribute &attribute, char kind) {
  if (attribute.kind == kind)
    return true;
  bool isList = kind == 'I' || kind == 'F' || kind == 'S';
  return isList && attribute.kind == '?' && attribute.ints.empty() &&
         attribute.floats.empty() && attribute.strings.empty();
}

} // namespace

const OpRow *findRow(StringRef op, StringRef domain, int64_t opset,
                     std::string &reason) {
  static const Table table = makeTable();
  StringRef shownDomain = domain.empty() ? "ai.onnx" : domain;
  const OpRow *best = nullptr;
  int64_t first = std::numeric_limits<int64_t>::max();
  auto it = table.find(op);
  if (it != table.end())
    for (const OpRow *row : it->second) {
      if (domain != row->domain)
        continue;
      first = std::min(first, row->since);
      if (row->since <= opset && (!best || row->since > best->since))
        best = row;
    }
  if (best && (!best->until || opset <= best->until))
    return best;
  if (best)
    reason = cat("was removed after opset ", best->until,
                 " and the model imports opset ", opset);
  else if (first != std::numeric_limits<int64_t>::max())
    reason = cat("exists from opset ", first,
                 " on and the model imports opset ", opset);
  else if (domain.empty() && isOnnxOperator(op))
    reason = "the operator is not implemented";
  else
    reason = cat("unknown operator in domain ", printable(shownDomain),
                 " at opset ", opset);
  return nullptr;
}

bool checkNode(const Node &node, const OpRow &row, std::string &error) {
  // Trailing empty names are optional inputs and outputs left out.
  auto used = [](const std::vector<StringRef> &names) {
    size_t count = names.size();
    while (count && names[count - 1].empty())
      --count;
    return count;
  };
  if (!checkCount("inputs", used(node.inputs), row.inputs, error) ||
      !checkCount("outputs", node.outputs.size(), row.outputs, error))
    return false;
  for (unsigned i = 0; i < row.inputs.least; ++i)
    if (node.inputs[i].empty()) {
      error = cat("leaves input ", i, " out, which is required");
      return false;
    }

  llvm::SmallVector<StringRef> declared;
  StringRef(row.attributes).split(declared, ' ', -1, /*KeepEmpty=*/false);
  llvm::SmallVector<StringRef> seen;
  for (const NodeAttribute &attribute : node.attributes) {
    if (llvm::is_contained(seen, attribute.name)) {
      error = cat("gives attribute ", quoted(attribute.name), " twice");
      return false;
    }
    seen.push_back(attribute.name);
    auto it = llvm::find_if(declared, [&](StringRef entry) {
      return entry.split('=').first == attribute.name;
    });
    if (it == declared.end()) {
      error = cat("has attribute ", quoted(attribute.name),
                  ", which the operator does not have at this opset");
      return false;
    }
    char kind = it->split('=').second.front();
    if (!fits(attribute, kind)) {
      error = cat("has attribute ", quoted(attribute.name), " as ",
                  kindName(attribute.kind), " where ", kindName(kind),
                  kind == 'I' || kind == 'F' || kind == 'S' ? " are" : " is",
                  " expected");
      return false;
    }
  }
  for (StringRef entry : declared)
    if (entry.ends_with("!") &&
        !llvm::is_contained(seen, entry.split('=').first)) {
      error = cat("lacks the attribute ", quoted(entry.split('=').first));
      return false;
    }
  return true;
}

} // namespace pascaline::importer
