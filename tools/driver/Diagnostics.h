// Diagnostics.h - MLIR's diagnostics as one sentence for the user.
#pragma once

#include "mlir/IR/Diagnostics.h"

#include <mutex>
#include <string>

namespace pascaline {

/// While it lives, errors are collected instead of printed. The sentence is
/// `model.onnx: node "conv1": what is wrong`, and says how many more there are.
class DiagnosticCollector {
public:
  DiagnosticCollector(mlir::MLIRContext &context, std::string model);

  bool failed() const { return count > 0; }
  std::string sentence() const;

private:
  void collect(mlir::Diagnostic &diagnostic);

  std::string model, first;
  int count = 0;
  std::mutex mutex; // passes run in parallel
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace pascaline
