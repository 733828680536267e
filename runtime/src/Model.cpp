// Model.cpp - see Model.h.
#include "runtime/src/Model.h"

#include "runtime/src/Error.h"
#include "runtime/src/Stream.h"

#include <chrono>

namespace pascaline::runtime {

using artifact::ArgumentKind;
using artifact::BufferKind;

ParameterBlock::ParameterBlock()
    : values(artifact::kMaxArguments + kMostParameterBytes / sizeof(uint64_t)),
      table(kMostParameterBytes) {
  for (size_t i = 0; i < table.size(); ++i)
    table[i] = &values[std::min(i, size_t(artifact::kMaxArguments))];
}

CUdeviceptr addressOf(const Buffer &buffer, const Bases &bases) {
  switch (buffer.kind) {
  case BufferKind::arena:
    return bases.arena + buffer.offset;
  case BufferKind::weights:
    return bases.weights + buffer.offset;
  case BufferKind::counters:
    return bases.counters + buffer.offset;
  case BufferKind::input:
    return bases.inputs[buffer.tensor];
  case BufferKind::output:
    return bases.outputs[buffer.tensor];
  case BufferKind::none:
    break; // the reader lets no such buffer through
  }
  return 0;
}

Model::Model(std::shared_ptr<const Artifact> from,
             std::shared_ptr<const Device> on)
    : device(std::move(on)), artifact(std::move(from)) {
  ContextScope scope(*device);
  // First the memory: it is known before anything is done, and costs nothing
  // to find missing.
  weights = DeviceMemory(*device, plan().weightsBytes,
                         format("model %s", plan().model).c_str());
  try {
    loadModule();
    loadWeights();
  } catch (...) {
    if (module)
      device->call().moduleUnload(module);
    throw;
  }
}

Model::~Model() {
  ContextScope scope(*device, ContextScope::quiet);
  device->call().moduleUnload(module);
}

CUresult Model::loadImage(const void *image, std::string &log) {
  log.assign(8192, '\0');
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
  if (device->counts())
    device->driver->setCounting(1);
  CUresult result =
      device->call().moduleLoadDataEx(&module, image, 2, options, values);
  if (device->counts())
    device->driver->setCounting(0);
  log.resize(strnlen(log.data(), log.size()));
  if (result != CUDA_SUCCESS)
    module = nullptr;
  return result;
}

void Model::loadModule() {
  auto start = std::chrono::steady_clock::now();
  const char *code = "cubin";
  std::string log;
  // A cubin fits one architecture only, and the emulator runs PTX.
  bool fits = !device->emulator && device->major * 10 + device->minor ==
                                       int(artifact->header.targetSm);
  if (artifact->cubinBytes && !fits && !device->emulator)
    device->log(
        format("%s: the cubin is for sm_%u and the device is of compute "
               "capability %d.%d; its PTX is used",
               artifact->name.c_str(), artifact->header.targetSm, device->major,
               device->minor));
  if (artifact->cubinBytes && fits) {
    CUresult result = loadImage(artifact->cubin, log);
    if (result != CUDA_SUCCESS)
      device->log(artifact->name + ": the cubin is refused with " +
                  device->driver->errorText(result) + "; its PTX is used");
  }
  if (!module) {
    code = "PTX";
    CUresult result = loadImage(artifact->ptx.c_str(), log);
    if (result != CUDA_SUCCESS)
      device->failed(result, "loading the PTX of " + artifact->name +
                                 (log.empty() ? "" : " (" + log + ")"));
  }
  for (const Kernel &kernel : plan().kernels) {
    CUfunction function = nullptr;
    CUresult result =
        device->call().moduleGetFunction(&function, module, kernel.entry);
    if (result != CUDA_SUCCESS)
      device->failed(result, format("finding kernel %s in the PTX of %s",
                                    kernel.entry, artifact->name.c_str()));
    int most = 0;
    device->check(device->call().funcGetAttribute(
                      &most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function),
                  "reading a kernel's block limit");
    uint32_t threads = kernel.block[0] * kernel.block[1] * kernel.block[2];
    if (threads > uint32_t(most))
      fail(PASCALINE_INVALID_ARTIFACT,
           "%s: kernel %s is launched with %u threads a block, its PTX allows "
           "%d; compile the model again",
           artifact->name.c_str(), kernel.entry, threads, most);
    functions.push_back(function);
  }
  std::chrono::duration<double, std::milli> time =
      std::chrono::steady_clock::now() - start;
  device->log(
      format("model %s: %s for weights, %zu kernels from its %s, loaded "
             "in %.0f ms",
             plan().model, sizeText(plan().weightsBytes).c_str(),
             functions.size(), code, time.count()));
}

void Model::loadWeights() {
  const DriverTable &call = device->call();
  Stream stream(*device);
  uint64_t uploaded = artifact->weightsBytes;
  if (uploaded)
    device->check(call.memcpyHtoDAsync(weights.address(), artifact->weights,
                                       uploaded, stream.get()),
                  "uploading weights");
  if (plan().weightsBytes > uploaded)
    device->check(call.memsetD8Async(weights.address() + uploaded, 0,
                                     plan().weightsBytes - uploaded,
                                     stream.get()),
                  "clearing weights");
  prepareWeights(plan(), stream.get());
  for (const Program &program : plan().alternatives)
    prepareWeights(program, stream.get());
  device->check(call.streamSynchronize(stream.get()), "loading weights");
}

void Model::prepareWeights(const Program &program, CUstream stream) {
  if (program.init.empty())
    return;
  const DriverTable &call = device->call();
  uint64_t arenaStart = aligned(program.counterBytes);
  DeviceMemory scratch(*device, arenaStart + program.arenaBytes,
                       "preparing weights");
  if (program.counterBytes)
    device->check(
        call.memsetD8Async(scratch.address(), 0, program.counterBytes, stream),
        "clearing counters");
  Bases bases;
  bases.weights = weights.address();
  bases.counters = scratch.address();
  bases.arena = scratch.address() + arenaStart;
  ParameterBlock parameters;
  for (size_t i = 0; i < program.init.size(); ++i)
    launch(program, program.init[i], bases, parameters, stream, "init launch",
           i);
  // Before the scratch memory goes.
  device->check(call.streamSynchronize(stream), "preparing weights");
}

void Model::launch(const Program &program, const Launch &launch,
                   const Bases &bases, ParameterBlock &parameters,
                   CUstream stream, const char *what, size_t index) const {
  for (size_t i = 0; i < launch.arguments.size(); ++i) {
    const Argument &argument = launch.arguments[i];
    uint64_t value = argument.value;
    if (argument.kind == ArgumentKind::buffer)
      value += addressOf(program.buffers[argument.buffer], bases);
    parameters.set(i, value);
  }
  const Kernel &kernel = plan().kernels[launch.kernel];
  CUresult result = device->call().launchKernel(
      functions[launch.kernel], launch.grid[0], launch.grid[1], launch.grid[2],
      kernel.block[0], kernel.block[1], kernel.block[2],
      kernel.dynamicSharedBytes, stream, parameters.pointers(), nullptr);
  if (result != CUDA_SUCCESS)
    device->failed(result, format("%s %zu of model %s, kernel %s%s%s", what,
                                  index, plan().model, kernel.entry,
                                  launch.nodes.empty() ? "" : " for node ",
                                  launch.nodes.empty() ? "" : launch.nodes[0]));
}

} // namespace pascaline::runtime
