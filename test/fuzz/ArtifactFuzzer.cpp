// ArtifactFuzzer.cpp - any bytes as a model.pasc: opened, and all that can be
// asked of it is asked.
//
// Checksums would stop nearly every change, so the bytes are tried as they are
// and again with right checksums.
#include "pascaline/pascaline.h"
#include "test/runtime/Samples.h"

#include <cstring>
#include <string>

namespace {

size_t sum = 0; // what was read must be used
uint64_t accepted = 0;

void read(const char *string) { sum += strlen(string); }

void read(const pascaline_tensor_info &tensor) {
  read(tensor.name);
  for (size_t i = 0; i < tensor.rank; ++i)
    sum += size_t(tensor.shape[i]);
}

void walk(const pascaline_artifact *artifact) {
  pascaline_artifact_info info;
  pascaline_artifact_get_info(artifact, &info);
  for (const char *string : {info.model, info.producer, info.chip, info.ptx})
    read(string);
  pascaline_tensor_info tensor;
  for (size_t i = 0; i < info.input_count; ++i)
    if (!pascaline_artifact_input(artifact, i, &tensor))
      read(tensor);
  for (size_t i = 0; i < info.output_count; ++i)
    if (!pascaline_artifact_output(artifact, i, &tensor))
      read(tensor);
  pascaline_kernel_info kernel;
  for (size_t i = 0; i < info.kernel_count; ++i)
    if (!pascaline_artifact_kernel(artifact, i, &kernel))
      read(kernel.name);
  pascaline_launch_info launch;
  for (size_t i = 0; i < info.launch_count; ++i)
    if (!pascaline_artifact_launch(artifact, i, &launch))
      for (size_t node = 0; node < launch.node_count; ++node)
        read(launch.nodes[node]);
  for (size_t set = 0; set < info.shape_set_count; ++set) {
    for (size_t i = 0; i < info.input_count; ++i)
      if (!pascaline_shape_set_input(artifact, set, i, &tensor))
        read(tensor);
    for (size_t i = 0; i < info.output_count; ++i)
      if (!pascaline_shape_set_output(artifact, set, i, &tensor))
        read(tensor);
  }
  pascaline_memory memory;
  pascaline_artifact_memory(artifact, &memory);
}

void open(const std::string &bytes) {
  pascaline_artifact *artifact = nullptr;
  if (pascaline_artifact_open_bytes(bytes.data(), bytes.size(), "artifact",
                                    &artifact))
    return;
  walk(artifact);
  ++accepted;
  pascaline_artifact_close(artifact);
}

} // namespace

extern "C" uint64_t fuzzAccepted() { return accepted; }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string bytes(reinterpret_cast<const char *>(data), size);
  open(bytes);
  if (size >= sizeof(pascaline::artifact::Header)) {
    pascaline::testing::rehash(bytes);
    open(bytes);
  }
  return 0;
}
