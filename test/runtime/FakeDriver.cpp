// FakeDriver.cpp - see FakeDriver.h.
#include "test/runtime/FakeDriver.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace pascaline::testing {
namespace {

FakeDriver *fake;

// Handles are small numbers, so that a use of one as a pointer is seen at once.
template <class T> T handle(uintptr_t number) {
  return reinterpret_cast<T>(number);
}

CUresult enter(const char *name) {
  fake->calls.push_back(name);
  return long(fake->calls.size()) - 1 == fake->failAt ? fake->failWith
                                                      : CUDA_SUCCESS;
}

bool contains(CUdeviceptr start, size_t bytes) {
  for (auto &[address, size] : fake->memory)
    if (start >= address && start + bytes <= address + size)
      return true;
  return false;
}

// A member of the table: counts the call, may fail, else does `body`.
#define FAKE(name, parameters, ...)                                            \
  CUresult name parameters {                                                   \
    if (CUresult result = enter(#name); result != CUDA_SUCCESS)                \
      return result;                                                           \
    __VA_ARGS__                                                                \
    return CUDA_SUCCESS;                                                       \
  }
// Bytes that are none of the device's are an error of the runtime.
#define OWNED(address, bytes)                                                  \
  if (!contains(address, bytes))                                               \
    return CUDA_ERROR_INVALID_VALUE;
#define CURRENT                                                                \
  if (!fake->pushed)                                                           \
    return CUDA_ERROR_INVALID_CONTEXT;

FAKE(init, (unsigned), )
FAKE(driverGetVersion, (int *version), *version = 9000;)
CUresult getErrorName(CUresult error, const char **text) {
  *text = error == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
                                            : "CUDA_ERROR_FAKE";
  return CUDA_SUCCESS;
}
CUresult getErrorString(CUresult, const char **text) {
  *text = "made to fail";
  return CUDA_SUCCESS;
}
FAKE(deviceGetCount, (int *count), *count = 1;)
FAKE(deviceGet, (CUdevice * device, int ordinal), *device = ordinal;)
FAKE(deviceGetName, (char *name, int length, CUdevice),
     snprintf(name, size_t(length), "Fake 1080");)
FAKE(deviceGetAttribute, (int *value, CUdevice_attribute attribute, CUdevice),
     *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
                  ? fake->capability / 10
                  : fake->capability % 10;)
FAKE(deviceTotalMem, (size_t * bytes, CUdevice), *bytes = fake->freeBytes;)
FAKE(devicePrimaryCtxRetain, (CUcontext * context, CUdevice), ++fake->contexts;
     *context = handle<CUcontext>(1);)
FAKE(devicePrimaryCtxRelease, (CUdevice), --fake->contexts;)
FAKE(ctxPushCurrent, (CUcontext), ++fake->pushed;)
FAKE(ctxPopCurrent, (CUcontext *), --fake->pushed;)
FAKE(ctxGetCurrent, (CUcontext * context), *context = handle<CUcontext>(1);)
FAKE(ctxSynchronize, (void), )
FAKE(memGetInfo, (size_t * free, size_t *total),
     CURRENT *free = *total = fake->freeBytes;)
FAKE(memAlloc, (CUdeviceptr * pointer, size_t bytes),
     CURRENT void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
     memset(memory, 0xcd, bytes);
     *pointer = CUdeviceptr(reinterpret_cast<uintptr_t>(memory));
     fake->memory[*pointer] = bytes;)
FAKE(memFree, (CUdeviceptr pointer),
     CURRENT if (!fake->memory.erase(pointer)) return CUDA_ERROR_INVALID_VALUE;
     free(handle<void *>(pointer));)
FAKE(memcpyHtoD, (CUdeviceptr to, const void *from, size_t bytes),
     OWNED(to, bytes) memcpy(handle<void *>(to), from, bytes);)
FAKE(memcpyDtoH, (void *to, CUdeviceptr from, size_t bytes),
     OWNED(from, bytes) memcpy(to, handle<void *>(from), bytes);)
FAKE(memcpyHtoDAsync,
     (CUdeviceptr to, const void *from, size_t bytes, CUstream),
     CURRENT OWNED(to, bytes) memcpy(handle<void *>(to), from, bytes);)
FAKE(memcpyDtoHAsync, (void *to, CUdeviceptr from, size_t bytes, CUstream),
     CURRENT OWNED(from, bytes) memcpy(to, handle<void *>(from), bytes);)
FAKE(memcpyDtoDAsync,
     (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream),
     CURRENT OWNED(to, bytes) OWNED(from, bytes)
         memcpy(handle<void *>(to), handle<void *>(from), bytes);)
FAKE(memsetD8Async,
     (CUdeviceptr to, unsigned char value, size_t bytes, CUstream),
     CURRENT OWNED(to, bytes) memset(handle<void *>(to), value, bytes);)
CUresult moduleLoadDataEx(CUmodule *module, const void *image, unsigned count,
                          CUjit_option *options, void **values) {
  if (CUresult result = enter("moduleLoadDataEx"); result != CUDA_SUCCESS) {
    for (unsigned i = 0; i < count; ++i)
      if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
        strcpy(static_cast<char *>(values[i]), fake->jitLog.c_str());
    return result;
  }
  CURRENT;
  ++fake->modules;
  fake->images.push_back(static_cast<const char *>(image));
  *module = handle<CUmodule>(2);
  return CUDA_SUCCESS;
}
FAKE(moduleUnload, (CUmodule), CURRENT-- fake->modules;)
FAKE(moduleGetFunction, (CUfunction * function, CUmodule, const char *name),
     CURRENT
         // The kernel's own name, which lives in the artifact, is its handle.
         *function = handle<CUfunction>(reinterpret_cast<uintptr_t>(name));)
FAKE(funcGetAttribute, (int *value, CUfunction_attribute, CUfunction),
     *value = fake->mostThreads;)
CUresult launchKernel(CUfunction function, unsigned gridX, unsigned gridY,
                      unsigned gridZ, unsigned blockX, unsigned blockY,
                      unsigned blockZ, unsigned sharedBytes, CUstream stream,
                      void **parameters, void **) {
  if (CUresult result = enter("launchKernel"); result != CUDA_SUCCESS)
    return result;
  CURRENT;
  FakeLaunch launch = {reinterpret_cast<const char *>(function),
                       {gridX, gridY, gridZ},
                       {blockX, blockY, blockZ},
                       sharedBytes,
                       stream,
                       {}};
  for (size_t i = 0; i < fake->parameterCount; ++i)
    launch.parameters.push_back(*static_cast<uint64_t *>(parameters[i]));
  if (fake->onLaunch)
    fake->onLaunch(launch);
  fake->launches.push_back(launch);
  return CUDA_SUCCESS;
}
FAKE(streamCreate, (CUstream * stream, unsigned),
     CURRENT *stream = handle<CUstream>(uintptr_t(100 + ++fake->streams));)
FAKE(streamDestroy, (CUstream), CURRENT-- fake->streams;)
FAKE(streamSynchronize, (CUstream), )
FAKE(streamWaitEvent, (CUstream, CUevent, unsigned), CURRENT)
FAKE(eventCreate, (CUevent * event, unsigned),
     CURRENT *event = handle<CUevent>(uintptr_t(200 + ++fake->events));)
FAKE(eventDestroy, (CUevent), CURRENT-- fake->events;)
FAKE(eventRecord, (CUevent, CUstream), CURRENT)
FAKE(eventSynchronize, (CUevent), )
FAKE(eventElapsedTime, (float *milliseconds, CUevent, CUevent),
     *milliseconds = 0.25f;)

} // namespace

FakeDriver::FakeDriver() { fake = this; }
FakeDriver::~FakeDriver() {
  for (auto &[address, size] : memory)
    free(handle<void *>(address));
  fake = nullptr;
}

std::shared_ptr<const runtime::Driver> FakeDriver::driver() const {
  runtime::DriverTable table;
#define FAKE_MEMBER(name, symbol, parameters)                                  \
  table.name = pascaline::testing::name;
  PASCALINE_CUDA_FUNCTIONS(FAKE_MEMBER)
#undef FAKE_MEMBER
  return std::make_shared<const runtime::Driver>(table, nullptr);
}

size_t FakeDriver::count(const std::string &name) const {
  return size_t(std::count(calls.begin(), calls.end(), name));
}

} // namespace pascaline::testing
