// GraphImporter.cpp - names to values, nodes to ops.
//
// What breaks the specification ends the import at once; operators that are
// not supported are collected, their outputs poisoned, and reported together.
#include "compiler/import/GraphImporter.h"

#include "compiler/import/GraphOrder.h"
#include "compiler/import/Inputs.h"
#include "compiler/import/OpTable.h"
#include "compiler/import/Text.h"
#include "compiler/ir/Decisions.h"
#include "compiler/ir/Dialect.h"
#include "compiler/ir/Types.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace pascaline::importer {
namespace {

// The newest operator set whose operators' meanings are known.
constexpr int64_t kNewestOpset = 28;
// Functions call functions; an exponential expansion must end somewhere.
constexpr unsigned kFunctionDepth = 32;
constexpr size_t kInlinedNodes = 1000000;
// Nodes listed in one error.
constexpr size_t kShownNodes = 64;

std::optional<int64_t> opsetOf(StringRef domain, ArrayRef<OpsetImport> opsets) {
  for (const OpsetImport &opset : opsets)
    if (opset.domain == domain)
      return opset.version;
  return std::nullopt;
}

} // namespace

GraphImporter::GraphImporter(MLIRContext *context, const Model &model,
                             const ShapeSet &shapes,
                             llvm::ArrayRef<std::string> exposed,
                             std::string folder, std::string function)
    : context(context), model(model), shapes(shapes), exposed(exposed),
      function(std::move(function)), tensors(context, std::move(folder)),
      builder(context) {}

bool GraphImporter::fail(const std::string &text) {
  error = text;
  return false;
}

//===- The graph
//-----------------------------------------------------------===//

func::FuncOp GraphImporter::run(std::string &errorOut) {
  Scope scope;
  Location unknown = builder.getUnknownLoc();
  OwningOpRef<func::FuncOp> fun(
      func::FuncOp::create(unknown, function, builder.getFunctionType({}, {})));
  Block *body = fun->addEntryBlock();
  builder.setInsertionPointToEnd(body);

  llvm::SmallVector<Value> values;
  Frame frame{nullptr, nullptr, 0, "", model.opsets};
  bool imported = checkOpsets(model.opsets) && defineInitializers(scope) &&
                  defineInputs(scope) &&
                  importNodes(model.graph.nodes, scope, frame);
  if (imported && !unsupported.empty())
    imported = fail(unsupportedText());
  llvm::SmallVector<StringRef> exposedNames;
  if (!imported || !makeResults(scope, values) ||
      !exposeTensors(scope, values, exposedNames)) {
    errorOut = error;
    return {};
  }

  builder.create<func::ReturnOp>(unknown, values);
  fun->setType(builder.getFunctionType(body->getArgumentTypes(),
                                       ValueRange(values).getTypes()));
  for (auto [i, output] : llvm::enumerate(model.graph.outputs))
    fun->setResultAttr(i, "pascaline.name", builder.getStringAttr(output.name));
  for (auto [i, name] : llvm::enumerate(exposedNames)) {
    unsigned result = model.graph.outputs.size() + i;
    fun->setResultAttr(result, "pascaline.name", builder.getStringAttr(name));
    fun->setResultAttr(result, "pascaline.exposed", builder.getUnitAttr());
  }
  eraseDead(*body);
  return fun.release();
}

bool GraphImporter::checkOpsets(ArrayRef<OpsetImport> opsets) {
  llvm::DenseMap<StringRef, int64_t> seen;
  for (const OpsetImport &opset : opsets) {
    int64_t other = seen.try_emplace(opset.domain, opset.version).first->second;
    if (other != opset.version)
      return fail(
          cat("opset ", other, " and opset ", opset.version, " of domain ",
              opset.domain.empty() ? "ai.onnx" : printable(opset.domain),
              " are both imported"));
    if (opset.domain.empty() &&
        (opset.version < 1 || opset.version > kNewestOpset))
      return fail(cat("the model imports opset ", opset.version,
                      " and opsets 1 to ", kNewestOpset,
                      " are known; export for an older one"));
  }
  return true;
}

bool GraphImporter::defineInitializers(Scope &scope) {
  auto define = [&](StringRef name, Definition definition) {
    if (name.empty())
      return fail("an initializer has no name");
    definition.by = "an initializer";
    if (!scope.try_emplace(name, definition).second)
      return fail(cat("value ", quoted(name),
                      " is defined twice, by two initializers"));
    return true;
  };
  for (const Tensor &tensor : model.graph.initializers) {
    Definition definition;
    definition.tensor = &tensor;
    if (!define(tensor.name, definition))
      return false;
  }
  for (const SparseTensor &sparse : model.graph.sparseInitializers) {
    Definition definition;
    definition.sparse = &sparse;
    if (!define(sparse.values.name, definition))
      return false;
  }
  return true;
}

bool GraphImporter::defineInputs(Scope &scope) {
  std::vector<BoundInput> inputs;
  if (!bindInputs(context, model, shapes, inputs, error))
    return false;
  Block *body = builder.getInsertionBlock();
  auto fun = cast<func::FuncOp>(body->getParentOp());
  llvm::SmallVector<Type> types;
  llvm::SmallVector<DictionaryAttr> attributes;
  for (const BoundInput &input : inputs) {
    types.push_back(input.type);
    attributes.push_back(builder.getDictionaryAttr(builder.getNamedAttr(
        "pascaline.name", builder.getStringAttr(input.name))));
    Definition definition;
    definition.by = "an input";
    definition.value = body->addArgument(
        input.type, NameLoc::get(builder.getStringAttr(input.name)));
    // An input that overrides its initializer takes its place.
    scope[input.name] = definition;
  }
  fun.setType(builder.getFunctionType(types, {}));
  fun.setAllArgAttrs(attributes);
  return true;
}

bool GraphImporter::makeResults(Scope &scope,
                                llvm::SmallVectorImpl<Value> &values) {
  llvm::DenseSet<StringRef> seen;
  if (model.graph.outputs.empty())
    return fail("the graph has no outputs");
  for (const ValueInfo &output : model.graph.outputs) {
    if (output.name.empty())
      return fail("a graph output has an empty name");
    std::string label = "output " + quoted(output.name);
    if (!seen.insert(output.name).second)
      return fail(label + " is declared twice");
    auto it = scope.find(output.name);
    if (it == scope.end())
      return fail(label + " is made by no node, input or initializer");
    size_t before = unsupported.size();
    if (!materialize(output.name, it->second, label))
      return false;
    if (unsupported.size() != before)
      return fail(unsupported.back());
    Value value = it->second.value;
    Type declared = elementType(context, output.type);
    Type actual = cast<RankedTensorType>(value.getType()).getElementType();
    if (output.type != 0 && declared != actual)
      return fail(cat(label, " is declared as ", elementTypeName(output.type),
                      " and computed as ", typeText(value.getType())));
    values.push_back(value);
  }
  return true;
}

bool GraphImporter::exposeTensors(Scope &scope,
                                  llvm::SmallVectorImpl<Value> &values,
                                  llvm::SmallVectorImpl<StringRef> &names) {
  llvm::DenseSet<StringRef> seen;
  for (const ValueInfo &output : model.graph.outputs)
    seen.insert(output.name);
  for (StringRef name : exposed) {
    auto it = scope.find(name);
    if (it == scope.end())
      return fail(cat("--expose ", name,
                      ": the model's graph has no tensor of that name"));
    if (!seen.insert(name).second)
      continue;
    if (!materialize(name, it->second, "--expose " + name.str()))
      return false;
    if (it->second.poisoned)
      return fail(cat("--expose ", name, ": its type is not supported"));
    values.push_back(it->second.value);
    names.push_back(name);
  }
  return true;
}

void GraphImporter::eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op)) {
      if (!isa<ConstantOp>(op))
        recordDecision(&op, Topic::Fate, "eliminated",
                       "no output of the model depends on it");
      op.erase();
    }
}

//===- Nodes
//---------------------------------------------------------------===//

bool GraphImporter::importNodes(ArrayRef<Node> nodes, Scope &scope,
                                const Frame &frame) {
  auto outside = [&](StringRef name) -> const char * {
    auto it = scope.find(name);
    return it == scope.end() ? nullptr : it->second.by;
  };
  llvm::SmallVector<unsigned> order;
  if (!orderNodes(nodes, outside, order, error))
    return false;
  for (unsigned index : order)
    if (!importNode(nodes[index], index, scope, frame))
      return false;
  return true;
}

bool GraphImporter::importNode(const Node &node, size_t index, Scope &scope,
                               const Frame &frame) {
  std::string label = nodeLabel(node, index);
  if (frame.function)
    label += " of function " + printable(frame.function->name);
  if (node.op.empty())
    return fail(label + " has no operator type");
  if (const Function *function = findFunction(node))
    return inlineFunction(*function, node, label, scope, frame);

  auto poison = [&] {
    for (StringRef name : node.outputs)
      if (!name.empty()) {
        Definition &definition = scope[name];
        definition.by = "a node";
        definition.poisoned = true;
      }
    return true;
  };

  std::optional<int64_t> opset = opsetOf(node.domain, frame.opsets);
  if (!opset)
    return fail(cat(label, ": the model imports no opset for domain ",
                    node.domain.empty() ? "ai.onnx" : printable(node.domain)));
  std::string reason;
  const OpRow *row = findRow(node.op, node.domain, *opset, reason);
  if (!row) {
    // Its types may be a second reason, worth knowing at the same time.
    for (StringRef name : node.inputs)
      if (auto it = scope.find(name);
          it != scope.end() && it->second.tensor &&
          !elementType(context, it->second.tensor->type))
        reason +=
            cat(", nor is element type ",
                elementTypeName(it->second.tensor->type), " of ", quoted(name));
    addUnsupported(label, reason);
    return poison();
  }
  if (!checkNode(node, *row, reason))
    return fail(label + ": " + reason);

  llvm::SmallVector<Value> inputs;
  for (StringRef name : node.inputs) {
    if (name.empty()) {
      inputs.push_back({});
      continue;
    }
    Definition &definition = scope[name];
    if (!materialize(name, definition, label))
      return false;
    if (definition.poisoned)
      return poison();
    inputs.push_back(definition.value);
  }

  Location loc = locate(node, index, frame);
  NodeImporter importer(builder, loc, node, *opset, inputs, tensors);
  if (succeeded(row->import(importer)))
    for (auto [i, name] : llvm::enumerate(node.outputs))
      if (!name.empty() && !importer.failed() && !importer.result(i))
        (void)importer.unsupported(cat("its output ", i, " is not supported"));
  if (importer.isUnsupported()) {
    addUnsupported(label, importer.problemText());
    return poison();
  }
  if (importer.failed())
    return fail(label + ": " + importer.problemText());
  if (DecisionLog *log = DecisionLog::of(context))
    recordNode(*log, node, cast<NameLoc>(loc).getName(), importer);
  for (auto [i, name] : llvm::enumerate(node.outputs))
    if (!name.empty()) {
      Definition &definition = scope[name];
      definition.by = "a node";
      definition.value = importer.result(i);
    }
  return true;
}

// The node, and what became of it if it needed no op.
void GraphImporter::recordNode(DecisionLog &log, const Node &node,
                               StringRef name, const NodeImporter &importer) {
  log.addNode(function, {name.str(), node.domain.empty()
                                         ? node.op.str()
                                         : cat(node.domain, ".", node.op)});
  auto record = [&](const char *choice, const char *reason) {
    log.record({function, Topic::Fate, name.str(), ""}, {choice, reason});
  };
  auto all = [&](auto holds) {
    for (auto [i, output] : llvm::enumerate(node.outputs))
      if (!output.empty() && !holds(importer.result(i)))
        return false;
    return true;
  };
  if (all([](Value value) { return value.getDefiningOp<ConstantOp>(); }))
    record("folded", "its value is known when the model is compiled");
  else if (all([&](Value value) {
             for (unsigned i = 0; i < importer.numInputs(); ++i)
               if (importer.input(i) == value)
                 return true;
             return false;
           }))
    record("eliminated", "its result is its input, unchanged");
}

bool GraphImporter::materialize(StringRef name, Definition &definition,
                                const std::string &label) {
  if (definition.value || definition.poisoned ||
      (!definition.tensor && !definition.sparse))
    return true;
  std::string reason;
  bool isUnsupported = false;
  ElementsAttr value =
      definition.tensor
          ? tensors.read(*definition.tensor, reason, isUnsupported)
          : tensors.read(*definition.sparse, reason, isUnsupported);
  if (value) {
    definition.value = builder.create<ConstantOp>(
        NameLoc::get(builder.getStringAttr(name)), value);
    return true;
  }
  if (!isUnsupported)
    return fail(cat("initializer ", quoted(name), " ", reason));
  addUnsupported(label, cat("reads initializer ", quoted(name), ": ", reason));
  definition.poisoned = true;
  return true;
}

Location GraphImporter::locate(const Node &node, size_t index,
                               const Frame &frame) {
  std::string name = frame.prefix;
  if (node.name.empty())
    name += cat(node.op, " #", index);
  else
    name += node.name.str();
  // Nodes are told apart by these names, and ONNX lets two have the same.
  while (!nodeNames.insert(name).second)
    name += cat(" #", index);
  return NameLoc::get(builder.getStringAttr(name));
}

//===- Functions
//-----------------------------------------------------------===//

const Function *GraphImporter::findFunction(const Node &node) const {
  for (const Function &function : model.functions)
    if (function.name == node.op && function.domain == node.domain &&
        function.overload == node.overload)
      return &function;
  return nullptr;
}

bool GraphImporter::inlineFunction(const Function &function, const Node &node,
                                   const std::string &label, Scope &scope,
                                   const Frame &frame) {
  for (const Frame *at = &frame; at; at = at->parent)
    if (at->function == &function)
      return fail(cat(label, ": function ", printable(function.name),
                      " is recursive: it calls itself"));
  inlined += function.nodes.size();
  if (frame.depth == kFunctionDepth || inlined > kInlinedNodes)
    return fail(cat(label, ": functions are nested deeper than ",
                    kFunctionDepth, " or expand to more than ", kInlinedNodes,
                    " nodes"));
  if (node.inputs.size() > function.inputs.size() ||
      node.outputs.size() > function.outputs.size())
    return fail(cat(label, ": has ", node.inputs.size(), " inputs and ",
                    node.outputs.size(), " outputs and the function takes ",
                    function.inputs.size(), " and ", function.outputs.size()));
  if (!checkOpsets(function.opsets))
    return false;

  // An argument left out is an empty name in the body.
  Scope inner;
  llvm::DenseSet<StringRef> absent;
  for (auto [i, name] : llvm::enumerate(function.inputs)) {
    if (i >= node.inputs.size() || node.inputs[i].empty()) {
      absent.insert(name);
      continue;
    }
    auto it = scope.find(node.inputs[i]);
    if (!materialize(node.inputs[i], it->second, label))
      return false;
    Definition definition = it->second;
    definition.by = "an input of the function";
    if (!inner.try_emplace(name, definition).second)
      return fail(cat("function ", printable(function.name),
                      " declares its input ", quoted(name), " twice"));
  }

  // The body's attributes may refer to the call's.
  auto argument = [&](StringRef name) -> const NodeAttribute * {
    for (ArrayRef<NodeAttribute> given :
         {ArrayRef<NodeAttribute>(node.attributes),
          ArrayRef<NodeAttribute>(function.defaults)})
      for (const NodeAttribute &attribute : given)
        if (attribute.name == name)
          return &attribute;
    return nullptr;
  };
  std::vector<Node> body;
  for (const Node &from : function.nodes) {
    Node &to = body.emplace_back(from);
    to.attributes.clear();
    for (const NodeAttribute &attribute : from.attributes) {
      if (attribute.reference.empty()) {
        to.attributes.push_back(attribute);
      } else if (const NodeAttribute *value = argument(attribute.reference)) {
        to.attributes.push_back(*value);
        to.attributes.back().name = attribute.name;
      }
    }
    for (StringRef &name : to.inputs)
      if (absent.contains(name))
        name = "";
  }

  Frame callee{&function, &frame, frame.depth + 1,
               frame.prefix +
                   (node.name.empty() ? function.name : node.name).str() + "/",
               function.opsets};
  if (!importNodes(body, inner, callee))
    return false;
  for (auto [i, name] : llvm::enumerate(node.outputs)) {
    if (name.empty())
      continue;
    auto it = inner.find(function.outputs[i]);
    if (it == inner.end())
      return fail(cat("function ", printable(function.name),
                      " never makes its "
                      "output ",
                      quoted(function.outputs[i])));
    Definition &definition = scope[name];
    definition = it->second;
    definition.by = "a node";
  }
  return true;
}

//===- Reports
//-------------------------------------------------------------===//

void GraphImporter::addUnsupported(const std::string &label,
                                   const std::string &reason) {
  unsupported.push_back(label + ": " + reason);
}

std::string GraphImporter::unsupportedText() const {
  std::string text =
      unsupported.size() == 1
          ? "1 operator is not supported: "
          : cat(unsupported.size(), " operators are not supported: ");
  for (size_t i = 0; i < std::min(unsupported.size(), kShownNodes); ++i)
    text += (i ? "; " : "") + unsupported[i];
  if (unsupported.size() > kShownNodes)
    text += cat("; and ", unsupported.size() - kShownNodes, " more");
  return text + "; express them by supported operators before export";
}

} // namespace pascaline::importer
