// FateWatch.h - sees which nodes a pass leaves nothing of.
//
// Passes say where they fold or drop a node on purpose (Decisions.h). MLIR's
// own, the canonicalizer and CSE, cannot: this compares the names in the IR
// around each pass, and says for the ones that are gone what that pass does,
// unless somebody knew better.
//
// Test: test/e2e/report.py
#pragma once

#include "compiler/ir/Decisions.h"

#include "mlir/Pass/PassInstrumentation.h"

#include "llvm/ADT/StringMap.h"

#include <map>
#include <mutex>
#include <string>

namespace pascaline {

class FateWatch : public mlir::PassInstrumentation {
public:
  explicit FateWatch(DecisionLog &log) : log(log) {}

  void runBeforePass(mlir::Pass *pass, mlir::Operation *op) override;
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override;

private:
  DecisionLog &log;
  std::mutex mutex; // functions are rewritten side by side
  /// Of each function before the pass: its nodes, and whether constants alone
  /// decide them.
  std::map<std::string, llvm::StringMap<bool>> before;
};

} // namespace pascaline
