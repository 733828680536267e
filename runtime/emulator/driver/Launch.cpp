// Launch.cpp - checks a launch as CUDA does, and runs it.
#include "runtime/emulator/driver/Capture.h"
#include "runtime/emulator/driver/Counters.h"
#include "runtime/emulator/scheduler/Scheduler.h"

#include <cstring>
#include <new>

using namespace pascaline::emulator;

namespace {

constexpr uint32_t kMaxGrid[3] = {2147483647, 65535, 65535};
constexpr uint32_t kMaxBlock[3] = {1024, 1024, 64};

// The keys of `extra`, as documented.
const void *const kParamEnd = nullptr;
const void *const kParamBuffer = reinterpret_cast<void *>(1);
const void *const kParamBufferSize = reinterpret_cast<void *>(2);

std::string text(const uint32_t (&extents)[3]) {
  return std::to_string(extents[0]) + "x" + std::to_string(extents[1]) + "x" +
         std::to_string(extents[2]);
}

CUresult checkExtents(const Launch &launch) {
  const KernelInfo &kernel = *launch.kernel;
  std::string prefix = "kernel " + kernel.name + ": ";
  for (int d = 0; d < 3; ++d) {
    if (launch.grid[d] == 0 || launch.grid[d] > kMaxGrid[d])
      return invalidValue(prefix + "a grid of " + text(launch.grid) +
                          " is not within 1..2147483647x65535x65535");
    if (launch.block[d] == 0 || launch.block[d] > kMaxBlock[d])
      return invalidValue(prefix + "a block of " + text(launch.block) +
                          " is not within 1..1024x1024x64");
  }
  uint64_t threads =
      uint64_t(launch.block[0]) * launch.block[1] * launch.block[2];
  if (threads > kMaxThreadsPerBlock)
    return invalidValue(prefix + "a block of " + std::to_string(threads) +
                        " threads, the device runs 1024 at most");
  if (threads > kernel.maxThreads)
    return fail(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
                prefix + "a block of " + std::to_string(threads) +
                    " threads, its .maxntid allows " +
                    std::to_string(kernel.maxThreads));
  if (kernel.requiredBlock[0])
    for (int d = 0; d < 3; ++d)
      if (launch.block[d] != std::max(kernel.requiredBlock[d], 1u))
        return invalidValue(prefix + "a block of " + text(launch.block) +
                            ", its .reqntid requires " +
                            text(kernel.requiredBlock));
  uint64_t shared =
      uint64_t(kernel.staticSharedBytes) + launch.dynamicSharedBytes;
  if (shared > kMaxSharedBytesPerBlock)
    return invalidValue(prefix + std::to_string(shared) +
                        " bytes of shared memory a block, the device has " +
                        std::to_string(kMaxSharedBytesPerBlock));
  return CUDA_SUCCESS;
}

// The kernel's parameters in one buffer, laid out as its code reads them.
class Parameters {
public:
  ~Parameters() {
    if (large)
      ::operator delete(large, std::align_val_t(kAlign));
  }

  CUresult gather(const KernelInfo &kernel, void **parameters, void **extra) {
    std::string prefix = "kernel " + kernel.name + ": ";
    if (parameters && extra)
      return invalidValue(prefix + "both parameters and extra are given");
    size_t bytes = kernel.paramBytes;
    if (bytes > sizeof small)
      large =
          static_cast<char *>(::operator new(bytes, std::align_val_t(kAlign)));
    if (extra)
      return gatherExtra(prefix, bytes, extra);
    if (!parameters && !kernel.params.empty())
      return invalidValue(prefix + "its " +
                          std::to_string(kernel.params.size()) +
                          " parameters are not given");
    for (size_t i = 0; i < kernel.params.size(); ++i) {
      const ParamInfo &param = kernel.params[i];
      if (!parameters[i])
        return invalidValue(prefix + "parameter " + std::to_string(i) +
                            " is null");
      std::memcpy(data() + param.offset, parameters[i], param.bytes);
    }
    return CUDA_SUCCESS;
  }
  char *data() { return large ? large : small; }

private:
  CUresult gatherExtra(const std::string &prefix, size_t bytes, void **extra) {
    const void *buffer = nullptr;
    size_t size = 0;
    for (; *extra != kParamEnd; extra += 2) {
      if (*extra == kParamBuffer)
        buffer = extra[1];
      else if (*extra == kParamBufferSize && extra[1])
        size = *static_cast<size_t *>(extra[1]);
      else
        return invalidValue(prefix + "extra has an unknown key");
    }
    if (size < bytes || (!buffer && bytes))
      return invalidValue(prefix + "extra gives " + std::to_string(size) +
                          " bytes of parameters, it takes " +
                          std::to_string(bytes));
    if (bytes)
      std::memcpy(data(), buffer, bytes);
    return CUDA_SUCCESS;
  }

  static constexpr size_t kAlign = 64;
  alignas(kAlign) char small[512] = {};
  char *large = nullptr;
};

CUresult resultOf(FailureKind kind) {
  switch (kind) {
  case FailureKind::None:
    return CUDA_SUCCESS;
  case FailureKind::IllegalAddress:
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  case FailureKind::MisalignedAddress:
    return CUDA_ERROR_MISALIGNED_ADDRESS;
  case FailureKind::IllegalInstruction:
    return CUDA_ERROR_ILLEGAL_INSTRUCTION;
  case FailureKind::OutOfMemory:
    return CUDA_ERROR_OUT_OF_MEMORY;
  case FailureKind::Timeout:
    return CUDA_ERROR_LAUNCH_TIMEOUT;
  case FailureKind::LaunchFailed:
    return CUDA_ERROR_LAUNCH_FAILED;
  }
  return CUDA_ERROR_UNKNOWN;
}

CUresult run(Launch launch, const ContextRef &context) {
  LaunchFailure failure;
  LaunchCounts counts;
  noteNoCounters();
  if (const CountPlan *plan = launch.kernel->counted.get()) {
    counts.reset(*plan);
    launch.counts = &counts;
  }
  {
    std::shared_lock<std::shared_mutex> lock(Driver::get().device);
    failure = Scheduler::get().run(launch);
  }
  CUresult result = resultOf(failure.kind);
  if (result == CUDA_SUCCESS && launch.counts)
    noteCounters(launch, counts);
  if (result == CUDA_SUCCESS)
    return CUDA_SUCCESS;
  if (failure.kind != FailureKind::OutOfMemory)
    setFailed(*context, result, failure.message);
  return fail(result, failure.message);
}

// The node of a graph keeps the parameters, but no module alive.
CUresult recordLaunch(CUstream stream, const ContextRef &context, Launch launch,
                      std::weak_ptr<CUmod_st> module, void **parameters,
                      void **extra) {
  auto kept = std::make_shared<Parameters>();
  if (CUresult result = kept->gather(*launch.kernel, parameters, extra))
    return result;
  launch.params = kept->data();
  return record(stream, context,
                [launch, module, kept](const ContextRef &running) {
                  auto alive = module.lock();
                  return alive ? run(launch, running)
                               : invalidHandle("the function of a graph");
                });
}

} // namespace

CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY,
                        unsigned gridZ, unsigned blockX, unsigned blockY,
                        unsigned blockZ, unsigned sharedBytes, CUstream stream,
                        void **parameters, void **extra) {
  ContextRef context;
  if (CUresult result = enter(&context))
    return result;
  bool captures;
  if (CUresult result = beginWork(stream, context, &captures))
    return result;
  Driver &driver = Driver::get();
  std::shared_ptr<CUmod_st> module; // keeps the code alive
  {
    std::lock_guard<std::mutex> lock(driver.objects);
    auto found = driver.functions.find(function);
    if (found == driver.functions.end() ||
        found->second->context != context.get())
      return invalidHandle("the function");
    module = found->second;
  }
  Launch launch;
  launch.kernel = function->kernel;
  launch.grid[0] = gridX, launch.grid[1] = gridY, launch.grid[2] = gridZ;
  launch.block[0] = blockX, launch.block[1] = blockY, launch.block[2] = blockZ;
  launch.dynamicSharedBytes = sharedBytes;
  if (CUresult result = checkExtents(launch))
    return result;
  if (captures)
    return recordLaunch(stream, context, launch, module, parameters, extra);
  Parameters gathered;
  if (CUresult result = gathered.gather(*launch.kernel, parameters, extra))
    return result;
  launch.params = gathered.data();
  return run(launch, context);
}
