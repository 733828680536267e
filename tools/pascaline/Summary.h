// Summary.h - launches by kernel, as `bench` and `inspect` show them.
#pragma once

#include "tools/pascaline/Cli.h"
#include "tools/pascaline/Json.h"

namespace pascaline::cli {

struct KernelSummary {
  pascaline_kernel_info kernel;
  std::vector<const char *> nodes; // of all its launches, each once
  uint64_t launches = 0;
  uint64_t flops = 0;
  uint64_t bytes = 0;
  const char *limit = "unknown"; // of its launch that does most
  double time = 0;               // microseconds a run; 0: not measured
};

// In the order of their first launch. times: one a launch, or empty.
std::vector<KernelSummary> summarize(const ArtifactHandle &artifact, size_t set,
                                     const std::vector<double> &times);

// The keys that both commands' JSON has.
void writeKernels(Json &json, const std::vector<KernelSummary> &kernels,
                  bool withTimes);
void writeMemory(Json &json, const pascaline_memory &memory);

// "conv1, relu1, +12" in at most about `width` bytes.
std::string nodesText(const std::vector<const char *> &nodes, size_t width);
// Control characters of a name from a file would drive the terminal.
std::string printable(const char *text);

} // namespace pascaline::cli
