// OpTable.h - which operators are imported, and by which function.
//
// A row says from which opset on it holds, how many inputs and outputs the
// operator takes and which attributes of which kind; all that is checked before
// its function runs. One ONNX family a file in ops/; a family's rows stand at
// the end of its file.
//
// Tests: test/import/operators.test.
#pragma once

#include "compiler/import/NodeImporter.h"

#include <limits>

namespace pascaline::importer {

inline constexpr unsigned kAny = std::numeric_limits<unsigned>::max();

struct Arity {
  unsigned least, most;
};

struct OpRow {
  const char *op;
  int64_t since;
  Arity inputs, outputs;
  /// "axis=i perm=I to=i!": names and kinds (see NodeAttribute); ! is required.
  const char *attributes;
  mlir::LogicalResult (*import)(NodeImporter &);
  /// The last opset that has the operator; 0 when it is still there.
  int64_t until = 0;
  const char *domain = "";
};

llvm::ArrayRef<OpRow> arithmeticRows();
llvm::ArrayRef<OpRow> activationRows();
llvm::ArrayRef<OpRow> logicRows();
llvm::ArrayRef<OpRow> contractionRows();
llvm::ArrayRef<OpRow> convolutionRows();
llvm::ArrayRef<OpRow> poolingRows();
llvm::ArrayRef<OpRow> normalizationRows();
llvm::ArrayRef<OpRow> reductionRows();
llvm::ArrayRef<OpRow> shapeRows();
llvm::ArrayRef<OpRow> layoutRows();
llvm::ArrayRef<OpRow> selectionRows();
llvm::ArrayRef<OpRow> constantRows();
llvm::ArrayRef<OpRow> resizeRows();
llvm::ArrayRef<OpRow> einsumRows();
llvm::ArrayRef<OpRow> indexingRows();

/// The row for an operator at an opset, or null and why there is none.
const OpRow *findRow(llvm::StringRef op, llvm::StringRef domain, int64_t opset,
                     std::string &reason);

/// Checks a node's inputs, outputs and attributes against its row; on failure
/// `error` says what does not fit.
bool checkNode(const Node &node, const OpRow &row, std::string &error);

} // namespace pascaline::importer
