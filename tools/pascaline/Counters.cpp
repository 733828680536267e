// Counters.cpp - see Counters.h.
#include "tools/pascaline/Counters.h"
#include "tools/pascaline/Summary.h"

#include <cstdio>
#include <cstring>

namespace pascaline::cli {
namespace {

using Row = std::vector<uint64_t>;

class Table {
public:
  explicit Table(const pascaline_counters &counters) : counters(counters) {}

  Row row(size_t launch) const {
    const uint64_t *first = counters.values + launch * counters.count;
    return Row(first, first + counters.count);
  }

  double operator()(const Row &row, const char *name) const {
    for (size_t i = 0; i < counters.count; ++i)
      if (!strcmp(counters.names[i], name))
        return double(row[i]);
    throw Failure(format("the emulator has no counter %s", name));
  }

  void write(Json &json, const Row &row) const {
    json.key("counters").open('{');
    for (size_t i = 0; i < counters.count; ++i)
      json.key(counters.names[i]).value(row[i]);
    json.close('}');
  }

private:
  const pascaline_counters &counters;
};

void add(Row &sum, const Row &row) {
  sum.resize(row.size());
  for (size_t i = 0; i < row.size(); ++i)
    sum[i] += row[i];
}

void writeExtents(Json &json, const char *key, const uint32_t (&extents)[3]) {
  json.key(key).open('[');
  for (uint32_t extent : extents)
    json.value(uint64_t(extent));
  json.close(']');
}

std::string asJson(const ArtifactHandle &artifact, const Table &table,
                   const std::vector<pascaline_launch_info> &launches,
                   const std::vector<KernelSummary> &kernels,
                   const std::vector<Row> &sums) {
  Json json;
  json.open('{').key("model").value(infoOf(artifact).model);
  json.key("device").value("emulator").key("kind").value("counted");
  json.key("kernels").open('[');
  for (size_t k = 0; k < kernels.size(); ++k) {
    json.open('{').key("name").value(kernels[k].kernel.name);
    json.key("nodes").open('[');
    for (const char *node : kernels[k].nodes)
      json.value(node);
    json.close(']').key("launches").value(kernels[k].launches);
    json.key("flops").value(kernels[k].flops);
    json.key("bytes").value(kernels[k].bytes);
    table.write(json, sums[k]);
    json.close('}');
  }
  json.close(']').key("launches").open('[');
  for (size_t i = 0; i < launches.size(); ++i) {
    pascaline_kernel_info kernel;
    check(
        pascaline_artifact_kernel(artifact.get(), launches[i].kernel, &kernel));
    json.open('{').key("kernel").value(kernel.name);
    json.key("nodes").open('[');
    for (size_t n = 0; n < launches[i].node_count; ++n)
      json.value(launches[i].nodes[n]);
    json.close(']');
    writeExtents(json, "grid", launches[i].grid);
    writeExtents(json, "block", kernel.block);
    table.write(json, table.row(i));
    json.close('}');
  }
  return json.close(']').close('}').finish();
}

void print(const Table &table, const std::vector<KernelSummary> &kernels,
           const std::vector<Row> &sums) {
  printf("%9s %9s %5s %6s %9s %7s %7s %9s %7s %8s kernel: nodes\n", "Mwarp-ins",
         "Mfma", "fma%", "lanes", "global MB", "sect/ld", "sect/st",
         "shared Mw", "wave/rq", "barriers");
  for (size_t k = 0; k < kernels.size(); ++k) {
    auto get = [&](const char *name) { return table(sums[k], name); };
    auto ratio = [](double part, double whole) {
      return whole > 0 ? part / whole : 0;
    };
    double warps = get("warp_instructions");
    double wavefronts = get("shared_load_wavefronts") +
                        get("shared_store_wavefronts") +
                        get("shared_atomic_wavefronts");
    double requests = get("shared_load_requests") +
                      get("shared_store_requests") +
                      get("shared_atomic_requests");
    double sectors = get("global_load_sectors") + get("global_store_sectors") +
                     get("global_atomic_sectors");
    printf("%9.3f %9.3f %5.1f %6.2f %9.3f %7.2f %7.2f %9.3f %7.2f %8.0f %s: "
           "%s\n",
           warps / 1e6, get("thread_fp32_fma") / 1e6,
           100 * ratio(get("warp_fp32_fma"), warps),
           ratio(get("thread_instructions") + get("thread_instructions_off"),
                 warps),
           sectors * 32 / 1e6,
           ratio(get("global_load_sectors"), get("global_load_requests")),
           ratio(get("global_store_sectors"), get("global_store_requests")),
           wavefronts / 1e6, ratio(wavefronts, requests),
           get("barriers_completed"), kernels[k].kernel.name,
           nodesText(kernels[k].nodes, 60).c_str());
  }
}

} // namespace

void checkCounterOptions(const Options &options) {
  if (!options.has("--counters"))
    return;
  for (const char *name : {"--iterations", "--warmup", "--duration", "--trace"})
    if (options.has(name))
      throw WrongUsage(
          format("--counters counts one run, it takes no %s", name));
}

void countRun(const Options &options, const ArtifactHandle &artifact,
              size_t set, const SessionHandle &session,
              const std::vector<pascaline_buffer> &inputs,
              const std::vector<pascaline_buffer> &outputs,
              PendingFiles &files) {
  pascaline_counters counters;
  check(pascaline_session_run_counted(session.get(), inputs.data(),
                                      inputs.size(), outputs.data(),
                                      outputs.size(), &counters));
  Table table(counters);
  std::vector<pascaline_launch_info> launches = launchesOf(artifact, set);
  std::vector<KernelSummary> kernels = summarize(artifact, set, {});
  std::vector<size_t> place(infoOf(artifact).kernel_count, kernels.size());
  std::vector<Row> sums;
  for (size_t i = 0; i < launches.size(); ++i) {
    size_t &at = place[launches[i].kernel];
    if (at == kernels.size()) { // in the order of summarize()
      at = sums.size();
      sums.emplace_back();
    }
    add(sums[at], table.row(i));
  }
  if (const std::string *path = options.value("--json"))
    files.add(*path, asJson(artifact, table, launches, kernels, sums));
  print(table, kernels, sums);
}

} // namespace pascaline::cli
