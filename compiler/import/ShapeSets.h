// ShapeSets.h - the shapes that a model is compiled for.
//
// A shape set binds the dimensions of all inputs once. A model compiled for
// several sets has a function each, and later a plan each; which one runs is
// chosen by the shapes of what the caller hands in.
//
// Tests: test/import/shapes.test, shape-sets.test.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace pascaline {

/// One input's shape; no dims is a scalar.
struct ShapeBinding {
  std::string name;
  std::vector<int64_t> dims;
};

using ShapeSet = std::vector<ShapeBinding>;

/// Reads the values of `--shape`: "NAME=1x3x224x224", "NAME=" for a scalar, or
/// several shapes with commas between them (NAME ends at the last '='); more
/// of them for the same name count on. There are as many sets as the most
/// shapes of an input, at least one; an input with a single shape has it in
/// every set. On failure `error` says what is wrong.
bool parseShapeSets(llvm::ArrayRef<std::string> texts,
                    std::vector<ShapeSet> &sets, std::string &error);

/// "x=1x3x224x224 y=1", for messages.
std::string shapeSetText(const ShapeSet &set);

} // namespace pascaline
