// Importer.cpp - from a path or bytes to a module.
#include "compiler/import/Importer.h"

#include "compiler/import/GraphImporter.h"
#include "compiler/import/Text.h"
#include "compiler/ir/Dialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace pascaline {

void loadImportDialects(MLIRContext &context) {
  context.loadDialect<PascalineDialect, func::FuncDialect>();
}

// Whether the last function's inputs have shapes of their own: a run is told
// from another by them.
static bool inputsDiffer(ModuleOp module, std::string &reason) {
  auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
  for (size_t i = 0; i + 1 < functions.size(); ++i)
    if (functions[i].getArgumentTypes() ==
        functions.back().getArgumentTypes()) {
      reason = "shape sets " + std::to_string(i + 1) + " and " +
               std::to_string(functions.size()) +
               " give every input the same shape; leave one out";
      return false;
    }
  return true;
}

OwningOpRef<ModuleOp> importOnnxBytes(MLIRContext &context, StringRef bytes,
                                      StringRef name, StringRef folder,
                                      const ImportOptions &options,
                                      std::string &error) {
  std::string reason;
  std::unique_ptr<importer::Model> model = importer::readModel(bytes, reason);
  if (!model) {
    error = name.str() + ": " + reason;
    return {};
  }
  OwningOpRef<ModuleOp> module(ModuleOp::create(UnknownLoc::get(&context)));
  for (auto [i, set] : llvm::enumerate(options.shapeSets)) {
    func::FuncOp fun = importer::GraphImporter(
                           &context, *model, set, options.exposed, folder.str(),
                           i ? "main_" + std::to_string(i) : "main")
                           .run(reason);
    if (fun)
      module->push_back(fun);
    if (fun && inputsDiffer(*module, reason))
      continue;
    error = name.str() + ": " +
            (i ? "with --shape " + shapeSetText(set) + ": " : "") + reason;
    return {};
  }
  return module;
}

OwningOpRef<ModuleOp> importOnnxFile(MLIRContext &context, StringRef path,
                                     const ImportOptions &options,
                                     std::string &error) {
  auto fail = [&](const std::string &reason) {
    error = path.str() + ": " + reason;
    return OwningOpRef<ModuleOp>();
  };
  llvm::sys::fs::file_status status;
  if (std::error_code code = llvm::sys::fs::status(path, status))
    return fail("the file cannot be opened: " + code.message());
  // A FIFO or device would block or never end.
  if (!llvm::sys::fs::is_regular_file(status))
    return fail("not a regular file");
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return fail("the file cannot be read: " + file.getError().message());
  llvm::SmallString<256> folder(llvm::sys::path::parent_path(path));
  if (folder.empty())
    folder = ".";
  return importOnnxBytes(context, (*file)->getBuffer(), path, folder, options,
                         error);
}

} // namespace pascaline
