// GraphImporter.h - a checked model's graph as a function of the dialect.
#pragma once

#include "compiler/import/Importer.h"
#include "compiler/import/Model.h"
#include "compiler/import/Tensors.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"

namespace pascaline {
class DecisionLog;
} // namespace pascaline

namespace pascaline::importer {

class NodeImporter;

/// Imports one model; `run` is called once.
class GraphImporter {
public:
  GraphImporter(mlir::MLIRContext *context, const Model &model,
                const ShapeSet &shapes, llvm::ArrayRef<std::string> exposed,
                std::string folder, std::string function);

  /// A function of that name that belongs to nothing yet. Null and `error`,
  /// without the file's name, on failure.
  mlir::func::FuncOp run(std::string &error);

private:
  // What a name stands for. Initializers become constants when first read. A
  // poisoned name is the output of a node that is not supported.
  struct Definition {
    const char *by = "";
    mlir::Value value;
    const Tensor *tensor = nullptr;
    const SparseTensor *sparse = nullptr;
    bool poisoned = false;
  };
  using Scope = llvm::DenseMap<llvm::StringRef, Definition>;

  // The function whose body is being inlined; null in the graph itself.
  struct Frame {
    const Function *function;
    const Frame *parent;
    unsigned depth;
    std::string prefix; // of the names of the body's nodes
    llvm::ArrayRef<OpsetImport> opsets;
  };

  bool checkOpsets(llvm::ArrayRef<OpsetImport> opsets);
  bool defineInitializers(Scope &scope);
  bool defineInputs(Scope &scope);
  bool importNodes(llvm::ArrayRef<Node> nodes, Scope &scope,
                   const Frame &frame);
  bool importNode(const Node &node, size_t index, Scope &scope,
                  const Frame &frame);
  bool inlineFunction(const Function &function, const Node &node,
                      const std::string &label, Scope &scope,
                      const Frame &frame);
  bool materialize(llvm::StringRef name, Definition &definition,
                   const std::string &label);
  bool makeResults(Scope &scope, llvm::SmallVectorImpl<mlir::Value> &values);
  bool exposeTensors(Scope &scope, llvm::SmallVectorImpl<mlir::Value> &values,
                     llvm::SmallVectorImpl<llvm::StringRef> &names);
  const Function *findFunction(const Node &node) const;
  mlir::Location locate(const Node &node, size_t index, const Frame &frame);
  bool fail(const std::string &text);
  void addUnsupported(const std::string &label, const std::string &reason);
  std::string unsupportedText() const;
  void eraseDead(mlir::Block &block);
  void recordNode(DecisionLog &log, const Node &node, llvm::StringRef name,
                  const NodeImporter &importer);

  mlir::MLIRContext *context;
  const Model &model;
  const ShapeSet &shapes;
  llvm::ArrayRef<std::string> exposed; ///< as ImportOptions has them
  std::string function;
  TensorReader tensors;
  mlir::OpBuilder builder;
  std::string error;
  std::vector<std::string> unsupported;
  llvm::StringSet<> nodeNames;
  size_t inlined = 0;
};

} // namespace pascaline::importer
