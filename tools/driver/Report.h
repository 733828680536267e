// Report.h - what a compile decided, in one structure, and its two forms.
//
// ReportData.cpp fills it from the decisions that passes recorded, the plan and
// the artifact; ReportJson.cpp and ReportHtml.cpp write it. docs/report.md
// describes the JSON and is to be kept with it. Names come from models: they
// are any bytes, and each form makes them safe.
//
// Test: test/e2e/report.py
#pragma once

#include "compiler/artifact/ArtifactWriter.h"
#include "compiler/ir/Decisions.h"

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <string>
#include <vector>

namespace pascaline {

struct Report {
  /// Of the JSON: raised when a key changes its meaning or goes, not when one
  /// is added.
  static constexpr int kVersion = 1;
  static constexpr size_t kNone = size_t(-1);

  struct Choice {
    std::string what, why;
  };
  struct Refusal {
    std::string with, why; ///< another node, and why they are two kernels
  };
  /// An ONNX node. `outcome` is "fused" (its kernel computes others too),
  /// "alone", "folded" (no run computes it) or "eliminated" (nobody does).
  struct Node {
    std::string name, op;
    Choice outcome;
    std::vector<size_t> launches;
    Choice precision, layout;
    Choice memory; ///< empty: nothing special
    std::vector<Refusal> notFused;
  };
  struct Tensor {
    std::string name, type; ///< "f32"
    std::vector<int64_t> shape;
    uint64_t bytes;
  };
  struct Kernel {
    std::string name, configuration;
    uint32_t block[3];
    uint32_t sharedBytes;
    uint32_t registers; ///< a thread; 0: not known
    size_t launches = 0;
  };
  struct Operand {
    size_t buffer;         ///< index into `buffers`
    std::string use;       ///< "read", "write", "scratch"
    std::string type;      ///< "1x64x56x56xf32"; empty: scratch memory
    uint64_t start, bytes; ///< in the buffer
  };
  struct Launch {
    size_t kernel;
    bool isInit; ///< runs once, at load
    uint32_t grid[3];
    std::vector<std::string> nodes;
    std::vector<Operand> operands;
    uint64_t flops, bytes;
    std::string limit;
    uint64_t liveBytes; ///< of arena, while it runs
  };
  struct Buffer {
    std::string kind;
    uint64_t offset, bytes;
    size_t first = kNone, last = kNone; ///< launches that touch it
    std::vector<std::string> nodes;     ///< of the launch that writes it first
    size_t replaces = kNone; ///< the buffer whose place it took as that died
  };
  struct Memory {
    uint64_t weights, init, arena, counters, staging, total;
    uint64_t lowerBound, onnxOrder;
    size_t peakLaunch; ///< where most lives; kNone without launches
  };
  struct Card {
    std::string name;
    uint64_t memory, usable;
    bool fits;
  };

  /// What runs for one shape set.
  struct Program {
    std::vector<Tensor> inputs, outputs;
    std::vector<Node> nodes;
    std::vector<Launch> launches;
    std::vector<Buffer> buffers;
    Memory memory;
    std::vector<Card> cards;
  };

  std::string model, producer, chip, precision;
  std::vector<Program> programs;
  std::vector<Kernel> kernels; ///< of all programs
};

/// From a module whose kernels have their PTX, and its artifact.
Report makeReport(mlir::ModuleOp module, const DecisionLog &log,
                  const ArtifactContents &artifact, bool storesHalf);

/// Both end in a newline and are the same bytes for the same report.
std::string reportAsJson(const Report &report);
std::string reportAsHtml(const Report &report);

/// The arena over the launches, as an SVG element.
std::string arenaPicture(const Report::Program &program);

/// "12.3 MiB"
std::string sizeText(uint64_t bytes);

/// Why a plan needs more than a limit: what it needs, and the launch at the
/// peak with its largest buffers.
std::string overLimitText(const Report::Program &program, uint64_t limit);

} // namespace pascaline
