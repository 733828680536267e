// Importer.h - model.onnx to the graph dialect.
//
// The result is a module with a `func.func` for each shape set, @main, @main_1,
// ..., whose arguments and results carry the ONNX names as `pascaline.name`; an
// op's location is its node's name ("Relu #3" when it has none). Shapes are
// static, opset variants are resolved, what depends on constants and shapes
// alone is folded. Equal constants of the functions share their bytes.
//
// The model is not trusted: every failure is one sentence in `error` that names
// the file, and nothing is left half made. The context needs the graph dialect
// and func loaded (loadImportDialects).
//
// Tests: test/import.
#pragma once

#include "compiler/import/ShapeSets.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace pascaline {

struct ImportOptions {
  /// At least one; the model is imported once for each.
  std::vector<ShapeSet> shapeSets = {{}};
  /// Names of tensors that become results too, behind the model's own; their
  /// results carry `pascaline.exposed`. One that is a result already is left.
  std::vector<std::string> exposed;
};

/// Loads the dialects that an imported module is made of.
void loadImportDialects(mlir::MLIRContext &context);

/// Null and `error` on failure. External data is looked for in the folder of
/// `path` and nowhere else.
mlir::OwningOpRef<mlir::ModuleOp> importOnnxFile(mlir::MLIRContext &context,
                                                 llvm::StringRef path,
                                                 const ImportOptions &options,
                                                 std::string &error);

/// The same from memory. `name` stands for the file in messages; external data
/// is refused when `folder` is empty.
mlir::OwningOpRef<mlir::ModuleOp>
importOnnxBytes(mlir::MLIRContext &context, llvm::StringRef bytes,
                llvm::StringRef name, llvm::StringRef folder,
                const ImportOptions &options, std::string &error);

} // namespace pascaline
