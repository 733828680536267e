// ShapeSets.cpp - from the texts of --shape to sets of bindings.
#include "compiler/import/ShapeSets.h"

#include "compiler/import/Model.h"
#include "compiler/import/Text.h"
#include "pascaline/artifact.h"

#include "llvm/ADT/STLExtras.h"

using llvm::StringRef;

namespace pascaline {
namespace {

using importer::cat;
using importer::printable;
using importer::quoted;

struct Input {
  std::string name;
  std::vector<std::vector<int64_t>> shapes;
};

bool parseDims(StringRef dims, std::vector<int64_t> &shape, StringRef text,
               std::string &error) {
  llvm::SmallVector<StringRef> parts;
  if (!dims.empty())
    dims.split(parts, 'x');
  for (StringRef part : parts) {
    int64_t dim;
    if (part.getAsInteger(10, dim) || dim < 0) {
      error = cat("--shape ", printable(text), ": ", quoted(part),
                  " is not a size; write NAME=1x3x224x224, or NAME= for a "
                  "scalar");
      return false;
    }
    shape.push_back(dim);
  }
  return true;
}

bool parse(StringRef text, std::vector<Input> &inputs, std::string &error) {
  auto [name, shapes] = text.rsplit('=');
  if (name.size() == text.size() || name.empty()) {
    error =
        cat("--shape ", printable(text), ": not of the form NAME=1x3x224x224");
    return false;
  }
  auto input = llvm::find_if(
      inputs, [&, name = name](const Input &in) { return in.name == name; });
  if (input == inputs.end())
    input = inputs.insert(inputs.end(), {name.str(), {}});
  llvm::SmallVector<StringRef> parts;
  shapes.split(parts, ',');
  for (StringRef part : parts)
    if (!parseDims(part, input->shapes.emplace_back(), text, error))
      return false;
  return true;
}

} // namespace

bool parseShapeSets(llvm::ArrayRef<std::string> texts,
                    std::vector<ShapeSet> &sets, std::string &error) {
  std::vector<Input> inputs;
  for (const std::string &text : texts)
    if (!parse(text, inputs, error))
      return false;
  size_t count = 1;
  const Input *widest = nullptr;
  for (const Input &input : inputs)
    if (input.shapes.size() > count) {
      count = input.shapes.size();
      widest = &input;
    }
  if (count > artifact::kMaxShapeSets) {
    error = cat("--shape ", printable(widest->name), ": has ", count,
                " shapes, more than ", artifact::kMaxShapeSets,
                "; compile several artifacts");
    return false;
  }
  sets.assign(count, {});
  for (const Input &input : inputs) {
    if (input.shapes.size() != 1 && input.shapes.size() != count) {
      error =
          cat("--shape ", printable(input.name), ": has ", input.shapes.size(),
              " shapes and ", printable(widest->name), " has ", count,
              "; give each input one shape, or one for each set");
      return false;
    }
    for (size_t i = 0; i < count; ++i)
      sets[i].push_back(
          {input.name, input.shapes[input.shapes.size() == 1 ? 0 : i]});
  }
  return true;
}

std::string shapeSetText(const ShapeSet &set) {
  std::string text;
  for (const ShapeBinding &binding : set)
    text += cat(text.empty() ? "" : " ", printable(binding.name), "=",
                binding.dims.empty() ? "" : importer::dimsText(binding.dims));
  return text;
}

} // namespace pascaline
