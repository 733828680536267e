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

OwningOpRef<ModuleOp> importOnnxBytes(MLIRContext &context, StringRef bytes,
                                      StringRef name, StringRef folder,
                                      const ImportOptions &options,
                                      std::string &error) {
  std::string reason;
  std::unique_ptr<importer::Model> model = importer::readModel(bytes, reason);
  OwningOpRef<ModuleOp> module;
  if (model)
    module = importer::GraphImporter(&context, *model, options, folder.str())
                 .run(reason);
  if (!module)
    error = name.str() + ": " + reason;
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
