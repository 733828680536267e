// Summary.cpp - see Summary.h.
#include "tools/pascaline/Summary.h"

#include <set>

namespace pascaline::cli {

std::vector<KernelSummary> summarize(const ArtifactHandle &artifact, size_t set,
                                     const std::vector<double> &times) {
  std::vector<pascaline_launch_info> launches = launchesOf(artifact, set);
  constexpr size_t none = size_t(-1);
  std::vector<size_t> place(infoOf(artifact).kernel_count, none);
  std::vector<KernelSummary> result;
  std::vector<std::set<std::string>> seen;
  std::vector<uint64_t> most;
  for (size_t i = 0; i < launches.size(); ++i) {
    const pascaline_launch_info &launch = launches[i];
    size_t &at = place[launch.kernel];
    if (at == none) {
      at = result.size();
      result.emplace_back();
      seen.emplace_back();
      most.push_back(0);
      check(pascaline_artifact_kernel(artifact.get(), launch.kernel,
                                      &result[at].kernel));
    }
    KernelSummary &summary = result[at];
    ++summary.launches;
    summary.flops += launch.flops;
    summary.bytes += launch.bytes;
    if (!times.empty())
      summary.time += times[i];
    uint64_t work = launch.flops + launch.bytes;
    if (summary.launches == 1 || work > most[at]) {
      most[at] = work;
      summary.limit = launch.limit;
    }
    for (size_t n = 0; n < launch.node_count; ++n)
      if (seen[at].insert(launch.nodes[n]).second)
        summary.nodes.push_back(launch.nodes[n]);
  }
  return result;
}

void writeKernels(Json &json, const std::vector<KernelSummary> &kernels,
                  bool withTimes) {
  json.key("kernels").open('[');
  for (const KernelSummary &each : kernels) {
    json.open('{').key("name").value(each.kernel.name);
    json.key("nodes").open('[');
    for (const char *node : each.nodes)
      json.value(node);
    json.close(']').key("launches").value(each.launches);
    if (withTimes)
      json.key("time_us").value(each.time);
    json.key("flops").value(each.flops).key("bytes").value(each.bytes);
    if (each.kernel.registers)
      json.key("registers").value(uint64_t(each.kernel.registers));
    json.key("limit").value(each.limit).close('}');
  }
  json.close(']');
}

void writeMemory(Json &json, const pascaline_memory &memory) {
  json.key("memory").open('{');
  json.key("weights").value(memory.weights);
  json.key("arena").value(memory.arena);
  json.key("lower_bound").value(memory.lower_bound);
  json.key("onnx_order").value(memory.onnx_order);
  json.key("counters").value(memory.counters);
  json.key("staging").value(memory.staging).close('}');
}

std::string nodesText(const std::vector<const char *> &nodes, size_t width) {
  std::string result;
  for (size_t i = 0; i < nodes.size(); ++i) {
    std::string next = (i ? ", " : "") + printable(nodes[i]);
    if (i && result.size() + next.size() > width)
      return result + format(", +%zu", nodes.size() - i);
    result += next;
  }
  return result;
}

std::string printable(const char *text) {
  std::string result = text;
  for (char &c : result)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      c = '?';
  return result;
}

} // namespace pascaline::cli
