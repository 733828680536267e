// Instruments.h - what watches a compile: IR dumps and progress.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassInstrumentation.h"

#include <chrono>
#include <memory>
#include <mutex>
#include <string>

namespace pascaline {

/// Writes DIR/NNN-<pass>.mlir after each pass that changed something. Numbers
/// go on over the pipelines of one compile.
class IrDump {
public:
  /// Makes the directory; empty path: dumps nothing.
  static std::unique_ptr<IrDump> open(const std::string &directory,
                                      std::string &error);

  /// The whole module under a stage's name.
  void write(mlir::ModuleOp module, llvm::StringRef name);

  /// To be added to a pass manager over a module.
  std::unique_ptr<mlir::PassInstrumentation> instrumentation();

  /// A write that did not succeed, as a sentence; empty when all did.
  std::string problem;

private:
  std::string directory;
  int count = 0;
};

/// On a terminal, after a second, one line on stderr that says what is being
/// done.
class Progress {
public:
  explicit Progress(bool wanted);
  ~Progress();
  void stage(llvm::StringRef what);
  /// Called from several threads.
  void countKernel(int64_t total);

private:
  void show(const std::string &line);

  bool terminal;
  bool shown = false;
  int64_t kernels = 0;
  std::mutex mutex;
  std::chrono::steady_clock::time_point start;
};

/// Tells the progress line of each kernel whose PTX is done.
class KernelCounter : public mlir::PassInstrumentation {
public:
  KernelCounter(Progress &progress, int64_t total)
      : progress(progress), total(total) {}
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override;

private:
  Progress &progress;
  int64_t total;
};

/// Text with weights elided, as `--emit` and dumps print it.
void printIr(mlir::Operation *op, llvm::raw_ostream &os);

} // namespace pascaline
