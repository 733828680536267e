// Pipelines.h - the compiler's contents page: which passes run, in which order.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <memory>
#include <string>
#include <vector>

namespace mlir {
class OpPassManager;
class Pass;
} // namespace mlir

namespace pascaline {

/// Which optional passes run. An optional pass makes results better and never
/// makes them legal, so that any set of them may be left out: to find the one
/// that breaks a model, or to work around it.
///
/// A pass is called as its option is, without "pascaline-"; the second run of
/// one is "cse.2". One object serves all pipelines of a compile, in order.
class PassChoice {
public:
  explicit PassChoice(llvm::ArrayRef<std::string> skipped = {})
      : skipped(skipped.begin(), skipped.end()) {}

  /// Adds a pass on the module or on its functions, as its kind asks, unless it
  /// is skipped.
  void addOptional(mlir::OpPassManager &pm, std::unique_ptr<mlir::Pass> pass);

  /// The optional passes so far, those that are skipped included.
  llvm::ArrayRef<std::string> names() const { return seen; }

private:
  std::vector<std::string> skipped, seen;
  llvm::StringMap<int> runs;
};

/// Graph to fused graph; on the module.
void buildGraphPipeline(mlir::OpPassManager &pm, PassChoice &choice);

/// The attribute of a group that has the largest magnitude seen of each of its
/// results, as f64; f16 storage obeys and removes it.
inline constexpr llvm::StringLiteral kLargestAttr = "pascaline.largest";

/// After that one: f16 storage, but for the nodes that `keepFloat` (a regular
/// expression; may be empty) matches.
void buildHalfPipeline(mlir::OpPassManager &pm, PassChoice &choice,
                       const std::string &keepFloat);

/// The names of all optional passes, in the order in which they run.
std::vector<std::string> optionalPasses(bool storeHalf);

/// A sentence for a name that none of them has; empty when all have.
std::string checkSkippedPasses(llvm::ArrayRef<std::string> names,
                               bool storeHalf);

/// Fused graph to plan; on the module.
void buildPlanPipeline(mlir::OpPassManager &pm, PassChoice &choice,
                       const std::string &chip);

/// A kernel as generated to the llvm dialect; on the module inside a
/// plan.kernel.
void buildKernelLoweringPipeline(mlir::OpPassManager &pm);

} // namespace pascaline
