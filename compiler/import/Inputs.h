// Inputs.h - the inputs of the imported function: types made static.
//
// Tests: test/import/shapes.test.
#pragma once

#include "compiler/import/Model.h"
#include "compiler/import/ShapeSets.h"

#include "mlir/IR/BuiltinTypes.h"

namespace pascaline::importer {

struct BoundInput {
  llvm::StringRef name;
  mlir::RankedTensorType type;
};

/// The graph's inputs in order, without those that stay constants (they have
/// an initializer and no binding). A symbolic dimension has one size in all
/// inputs. False and `error`, which names every input that is left dynamic.
bool bindInputs(mlir::MLIRContext *context, const Model &model,
                const ShapeSet &shapes, std::vector<BoundInput> &inputs,
                std::string &error);

} // namespace pascaline::importer
