// Inspect.cpp - `pascaline inspect`: what is in a model.pasc. Needs no device.
#include "tools/pascaline/Cli.h"
#include "tools/pascaline/Summary.h"

#include <cstdio>
#include <filesystem>

namespace pascaline::cli {
namespace {

using Tensors = std::vector<pascaline_tensor_info>;

void writeTensors(Json &json, const char *key, const Tensors &tensors) {
  json.key(key).open('[');
  for (const pascaline_tensor_info &tensor : tensors) {
    json.open('{').key("name").value(tensor.name);
    json.key("type").value(pascaline_element_type_name(tensor.type));
    json.key("shape").open('[');
    for (size_t i = 0; i < tensor.rank; ++i)
      json.value(tensor.shape[i]);
    json.close(']').key("bytes").value(tensor.bytes).close('}');
  }
  json.close(']');
}

size_t primaryCount(const std::vector<pascaline_launch_info> &launches) {
  size_t count = 0;
  for (const pascaline_launch_info &launch : launches)
    count += !launch.secondary;
  return count;
}

// What a shape set has of its own.
void writeShapeSet(Json &json, const ArtifactHandle &artifact, size_t set) {
  pascaline_shape_set_info info = shapeSetOf(artifact, set);
  writeTensors(json, "inputs", inputsOf(artifact, set));
  writeTensors(json, "outputs", outputsOf(artifact, set));
  json.key("launches").value(uint64_t(info.launch_count));
  json.key("primary_launches")
      .value(uint64_t(primaryCount(launchesOf(artifact, set))));
  json.key("init_launches").value(uint64_t(info.init_launch_count));
  writeKernels(json, summarize(artifact, set, {}), false);
  writeMemory(json, info.memory);
}

std::string asJson(const ArtifactHandle &artifact, size_t set) {
  pascaline_artifact_info info = infoOf(artifact);
  Json json;
  json.open('{').key("model").value(info.model);
  json.key("format_version").value(uint64_t(info.format_version));
  json.key("target").value(format("sm_%u", info.target_sm).c_str());
  json.key("chip").value(info.chip).key("producer").value(info.producer);
  json.key("ptx_bytes").value(uint64_t(info.ptx_bytes));
  json.key("cubin_bytes").value(uint64_t(info.cubin_bytes));
  json.key("shape_sets").value(uint64_t(info.shape_set_count));
  writeShapeSet(json, artifact, set);
  return json.close('}').finish();
}

void printTensors(const char *what, const Tensors &tensors) {
  for (const pascaline_tensor_info &tensor : tensors)
    printf("%-8s %s  %s\n", what, printable(tensor.name).c_str(),
           typeText(tensor).c_str());
}

// "x 1x3, y scalar"
std::string shapesText(const Tensors &tensors) {
  std::string text;
  for (const pascaline_tensor_info &tensor : tensors)
    text += (text.empty() ? "" : ", ") + printable(tensor.name) + " " +
            shapeText(tensor.shape, tensor.rank);
  return text;
}

void printText(const ArtifactHandle &artifact, size_t set) {
  pascaline_artifact_info info = infoOf(artifact);
  pascaline_shape_set_info here = shapeSetOf(artifact, set);
  const pascaline_memory &memory = here.memory;
  printf("model    %s, format version %u, sm_%u, tuned for %s, by %s\n",
         printable(info.model).c_str(), info.format_version, info.target_sm,
         printable(info.chip).c_str(), printable(info.producer).c_str());
  for (size_t i = 0; info.shape_set_count > 1 && i < info.shape_set_count; ++i)
    printf("shapes %zu %s\n", i, shapesText(inputsOf(artifact, i)).c_str());
  if (info.shape_set_count > 1)
    printf("\nof shape set %zu:\n", set);
  printTensors("input", inputsOf(artifact, set));
  printTensors("output", outputsOf(artifact, set));
  printf("memory   weights %s; a session %s: arena %s (no less than %s; "
         "ONNX's order needs %s), counters %s, staging %s\n",
         bytesText(memory.weights).c_str(),
         bytesText(memory.session_total).c_str(),
         bytesText(memory.arena).c_str(), bytesText(memory.lower_bound).c_str(),
         bytesText(memory.onnx_order).c_str(),
         bytesText(memory.counters).c_str(), bytesText(memory.staging).c_str());
  printf("launches %zu a run, %zu of them primary; %zu at load\n",
         here.launch_count, primaryCount(launchesOf(artifact, set)),
         here.init_launch_count);
  printf("code     %s of PTX, %s of cubin, %zu kernels\n\n",
         bytesText(info.ptx_bytes).c_str(), bytesText(info.cubin_bytes).c_str(),
         info.kernel_count);
  printf("%8s %9s %10s %7s %6s %9s %-8s kernel: nodes\n", "launches", "MFLOP",
         "MB", "threads", "shared", "registers", "limit");
  for (const KernelSummary &each : summarize(artifact, set, {})) {
    const pascaline_kernel_info &kernel = each.kernel;
    std::string registers =
        kernel.registers ? format("%u", kernel.registers) : "-";
    printf("%8llu %9.1f %10.3f %7u %6u %9s %-8s %s: %s\n",
           (unsigned long long)each.launches, double(each.flops) / 1e6,
           double(each.bytes) / 1e6,
           kernel.block[0] * kernel.block[1] * kernel.block[2],
           kernel.static_shared_bytes + kernel.dynamic_shared_bytes,
           registers.c_str(), each.limit, kernel.name,
           nodesText(each.nodes, 60).c_str());
  }
}

void extractPtx(const ArtifactHandle &artifact, const std::string &directory,
                const std::string &modelPath) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    throw Failure(format("%s: cannot be created: %s", directory.c_str(),
                         error.message().c_str()));
  pascaline_artifact_info info = infoOf(artifact);
  std::string path = directory + "/" +
                     std::filesystem::path(modelPath).stem().string() + ".ptx";
  PendingFiles files(modelPath);
  files.add(path, info.ptx, info.ptx_bytes);
  files.commit();
}

} // namespace

int inspectCommand(int argc, char **argv) {
  Options options(
      argc, argv,
      {{"--json", false}, {"--extract-ptx", true}, {"--shape-set", true}},
      "MODEL.pasc");
  ArtifactHandle artifact = openArtifact(options.positional());
  size_t set = chosenShapeSet(options, artifact);
  if (const std::string *directory = options.value("--extract-ptx"))
    extractPtx(artifact, *directory, options.positional());
  if (options.has("--json"))
    fputs(asJson(artifact, set).c_str(), stdout);
  else
    printText(artifact, set);
  return 0;
}

} // namespace pascaline::cli
