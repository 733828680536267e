// Diagnostics.h - MLIR's diagnostics as one sentence for the user.
#pragma once

#include "mlir/IR/Diagnostics.h"

#include <mutex>
#include <string>
#include <vector>

namespace pascaline {

/// While it lives, errors are collected instead of printed. The sentence is
/// `model.onnx: node "conv1": what is wrong`, and says how many more there are.
class DiagnosticCollector {
public:
  DiagnosticCollector(mlir::MLIRContext &context, std::string model);

  bool failed() const { return count > 0; }
  std::string sentence() const;
  /// The remarks, in the same form: decisions that a user may want to know.
  const std::vector<std::string> &notes() const { return remarks; }

private:
  void collect(mlir::Diagnostic &diagnostic);

  std::string model, first;
  std::vector<std::string> remarks;
  int count = 0;
  std::mutex mutex; // passes run in parallel
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace pascaline
