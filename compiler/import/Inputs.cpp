// Inputs.cpp - binding dynamic dimensions.
#include "compiler/import/Inputs.h"
#include "compiler/import/Tensors.h"
#include "compiler/import/Text.h"
#include "compiler/ir/Shapes.h"
#include "compiler/ir/Types.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

using llvm::StringRef;

namespace pascaline {

namespace importer {
namespace {

class InputBinder {
public:
  InputBinder(mlir::MLIRContext *context, const Model &model,
              const ShapeSet &shapes, std::string &error)
      : context(context), model(model), shapes(shapes), error(error) {}

  bool run(std::vector<BoundInput> &inputs) {
    for (const Tensor &tensor : model.graph.initializers)
      constants.insert(tensor.name);
    for (const SparseTensor &sparse : model.graph.sparseInitializers)
      constants.insert(sparse.values.name);
    return selectInputs() && applyBindings() && makeTypes(inputs);
  }

private:
  std::string declaration(const ValueInfo &input) {
    std::string text = elementTypeName(input.type);
    if (!input.hasShape)
      return text + " of any shape";
    for (auto [i, dim] : llvm::enumerate(input.dims)) {
      text += i ? "x" : " ";
      if (dim.value)
        text += std::to_string(*dim.value);
      else
        text += dim.param.empty() ? "?" : printable(dim.param);
    }
    return input.dims.empty() ? text + " scalar" : text;
  }

  const ShapeBinding *findBinding(StringRef name) {
    for (const ShapeBinding &binding : shapes)
      if (binding.name == name)
        return &binding;
    return nullptr;
  }

  bool selectInputs() {
    llvm::DenseSet<StringRef> seen;
    for (const ValueInfo &input : model.graph.inputs) {
      if (input.name.empty()) {
        error = "a graph input has an empty name";
        return false;
      }
      if (!seen.insert(input.name).second) {
        error = cat("input ", quoted(input.name), " is declared twice");
        return false;
      }
      bool isConstant = constants.contains(input.name);
      if (isConstant && !findBinding(input.name))
        continue;
      if (isConstant && model.irVersion < 4) {
        error =
            cat("--shape ", printable(input.name),
                ": the input has an initializer, which is a constant in a "
                "model of IR version ",
                model.irVersion, " (an input that may be overridden needs 4)");
        return false;
      }
      if (input.kind != "tensor") {
        error = cat("input ", quoted(input.name), " has ",
                    input.kind == "no type" ? "" : "type ", input.kind,
                    "; only tensors are supported");
        return false;
      }
      if (!elementType(context, input.type)) {
        error = cat("input ", quoted(input.name), " has element type ",
                    elementTypeName(input.type), ", which is not supported");
        return false;
      }
      open.push_back({&input, input.hasShape, input.dims});
    }
    return true;
  }

  bool bindParam(StringRef param, int64_t size, StringRef input) {
    if (param.empty())
      return true;
    auto [it, isNew] = params.try_emplace(param, size);
    if (isNew || it->second == size)
      return true;
    error = cat("--shape ", printable(input), ": dimension ", quoted(param),
                " is ", size, " here and ", it->second, " in another input");
    return false;
  }

  bool applyBindings() {
    for (const ShapeBinding &binding : shapes) {
      std::string shown = "--shape " + printable(binding.name) + "=" +
                          (binding.dims.empty() ? "" : dimsText(binding.dims));
      auto it = llvm::find_if(open, [&](const OpenInput &input) {
        return input.info->name == binding.name;
      });
      if (it == open.end()) {
        error = cat(shown, ": the model has no input of that name; it has ");
        for (size_t i = 0; i < open.size() && i < 16; ++i)
          error += (i ? ", " : "") + quoted(open[i].info->name);
        if (open.empty())
          error += "none";
        return false;
      }
      if (it->hasShape && it->dims.size() != binding.dims.size()) {
        error = cat(shown, ": has ", binding.dims.size(),
                    " dimensions and the input is declared ",
                    declaration(*it->info));
        return false;
      }
      it->dims.resize(binding.dims.size());
      it->hasShape = true;
      for (auto [dim, size] : llvm::zip(it->dims, binding.dims)) {
        if (dim.value && *dim.value != size) {
          error = cat(shown, ": dimension ", size, " contradicts ", *dim.value,
                      " of the input, declared ", declaration(*it->info));
          return false;
        }
        if (!dim.value && !bindParam(dim.param, size, binding.name))
          return false;
        dim.value = size;
      }
    }
    return true;
  }

  bool makeTypes(std::vector<BoundInput> &inputs) {
    std::vector<std::string> unbound;
    for (OpenInput &input : open) {
      Shape shape;
      bool dynamic = !input.hasShape;
      for (Dim &dim : input.dims) {
        if (!dim.value && !dim.param.empty())
          if (auto it = params.find(dim.param); it != params.end())
            dim.value = it->second;
        dynamic |= !dim.value;
        shape.push_back(dim.value.value_or(0));
      }
      StringRef name = input.info->name;
      if (dynamic) {
        unbound.push_back(quoted(name) + " (" + declaration(*input.info) + ")");
        continue;
      }
      error = shapeProblem(shape);
      if (!error.empty()) {
        error = cat("input ", quoted(name), " ", error);
        return false;
      }
      inputs.push_back(
          {name, mlir::RankedTensorType::get(
                     shape, elementType(context, input.info->type))});
    }
    if (unbound.empty())
      return true;
    error = unbound.size() == 1
                ? "an input has dynamic dimensions: "
                : cat(unbound.size(), " inputs have dynamic dimensions: ");
    for (size_t i = 0; i < unbound.size(); ++i)
      error += (i ? ", " : "") + unbound[i];
    error += "; bind them with --shape NAME=1x3x224x224";
    return false;
  }

  struct OpenInput {
    const ValueInfo *info;
    bool hasShape;
    std::vector<Dim> dims;
  };

  mlir::MLIRContext *context;
  const Model &model;
  const ShapeSet &shapes;
  std::string &error;
  llvm::DenseSet<StringRef> constants;
  llvm::DenseMap<StringRef, int64_t> params;
  std::vector<OpenInput> open;
};

} // namespace

bool bindInputs(mlir::MLIRContext *context, const Model &model,
                const ShapeSet &shapes, std::vector<BoundInput> &inputs,
                std::string &error) {
  return InputBinder(context, model, shapes, error).run(inputs);
}

} // namespace importer
} // namespace pascaline
