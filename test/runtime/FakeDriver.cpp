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

// Of the current context.
bool contains(CUdeviceptr start, size_t bytes) {
  for (auto &[address, size] : fake->memory)
    if (start >= address && start + bytes <= address + size)
      return fake->owners[address] == fake->current.back();
  return false;
}

template <class T> T create(int &counter) {
  fake->live[++fake->lastHandle] = &counter;
  ++counter;
  return handle<T>(fake->lastHandle);
}

bool isLive(const void *of, const int &counter) {
  auto found = fake->live.find(reinterpret_cast<uintptr_t>(of));
  return found != fake->live.end() && found->second == &counter;
}

CUresult destroy(const void *what, int &counter) {
  if (!isLive(what, counter))
    return CUDA_ERROR_INVALID_HANDLE;
  --counter;
  fake->live.erase(reinterpret_cast<uintptr_t>(what));
  fake->recorded.erase(reinterpret_cast<uintptr_t>(what));
  return CUDA_SUCCESS;
}

// Done at once, unless the stream captures.
void put(CUstream stream, std::function<void(CUstream)> work) {
  auto capture = fake->captures.find(stream);
  if (capture == fake->captures.end())
    work(stream);
  else
    capture->second.push_back(std::move(work));
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
  if (fake->current.empty())                                                   \
    return CUDA_ERROR_INVALID_CONTEXT;
#define NOT_CAPTURING(stream, error)                                           \
  if (fake->captures.count(stream))                                            \
    return error;

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
FAKE(deviceGetCount, (int *count), *count = fake->deviceCount;)
FAKE(deviceGet, (CUdevice * device, int ordinal),
     if (ordinal >= fake->deviceCount) return CUDA_ERROR_INVALID_DEVICE;
     *device = ordinal;)
FAKE(deviceGetName, (char *name, int length, CUdevice),
     snprintf(name, size_t(length), "%s", fake->deviceName.c_str());)
FAKE(deviceGetAttribute, (int *value, CUdevice_attribute attribute, CUdevice),
     *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
                  ? fake->capability / 10
                  : fake->capability % 10;)
FAKE(devicePrimaryCtxRetain, (CUcontext * context, CUdevice device),
     ++fake->contexts;
     *context = handle<CUcontext>(uintptr_t(1000 + device));)
FAKE(devicePrimaryCtxRelease, (CUdevice), --fake->contexts;)
FAKE(ctxPushCurrent, (CUcontext context), fake->current.push_back(context);)
FAKE(ctxPopCurrent, (CUcontext * context),
     CURRENT *context = fake->current.back();
     fake->current.pop_back();)
FAKE(memGetInfo, (size_t * free, size_t *total),
     CURRENT *free = *total = fake->freeBytes;)
FAKE(memAlloc, (CUdeviceptr * pointer, size_t bytes),
     CURRENT void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
     memset(memory, 0xcd, bytes);
     *pointer = CUdeviceptr(reinterpret_cast<uintptr_t>(memory));
     fake->memory[*pointer] = bytes;
     fake->owners[*pointer] = fake->current.back();)
FAKE(memFree, (CUdeviceptr pointer),
     CURRENT if (!fake->memory.erase(pointer)) return CUDA_ERROR_INVALID_VALUE;
     free(handle<void *>(pointer));)
FAKE(memcpyHtoDAsync,
     (CUdeviceptr to, const void *from, size_t bytes, CUstream stream),
     CURRENT OWNED(to, bytes) put(stream, [=](CUstream) {
       memcpy(handle<void *>(to), from, bytes);
     });)
FAKE(memcpyDtoHAsync,
     (void *to, CUdeviceptr from, size_t bytes, CUstream stream),
     CURRENT OWNED(from, bytes) put(stream, [=](CUstream) {
       memcpy(to, handle<void *>(from), bytes);
     });)
FAKE(memcpyDtoDAsync,
     (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
     CURRENT OWNED(to, bytes) OWNED(from, bytes) put(stream, [=](CUstream) {
       memcpy(handle<void *>(to), handle<void *>(from), bytes);
     });)
FAKE(memsetD8Async,
     (CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream),
     CURRENT OWNED(to, bytes) put(stream, [=](CUstream) {
       memset(handle<void *>(to), value, bytes);
     });)
CUresult moduleLoadDataEx(CUmodule *module, const void *image, unsigned count,
                          CUjit_option *options, void **values) {
  if (CUresult result = enter("moduleLoadDataEx"); result != CUDA_SUCCESS) {
    for (unsigned i = 0; i < count; ++i)
      if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
        strcpy(static_cast<char *>(values[i]), fake->jitLog.c_str());
    return result;
  }
  CURRENT;
  if (fake->refusesCubins && !memcmp(image,
                                     "\x7f"
                                     "ELF",
                                     4))
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  fake->images.push_back(static_cast<const char *>(image));
  *module = create<CUmodule>(fake->modules);
  return CUDA_SUCCESS;
}
FAKE(moduleUnload, (CUmodule module),
     CURRENT return destroy(module, fake->modules);)
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
                       fake->current.back(),
                       {}};
  for (size_t i = 0; i < fake->parameterCount; ++i)
    launch.parameters.push_back(*static_cast<uint64_t *>(parameters[i]));
  put(stream, [launch](CUstream on) mutable {
    launch.stream = on;
    if (fake->onLaunch)
      fake->onLaunch(launch);
    fake->launches.push_back(launch);
  });
  return CUDA_SUCCESS;
}
FAKE(streamCreate, (CUstream * stream, unsigned),
     CURRENT *stream = create<CUstream>(fake->streams);)
FAKE(streamDestroy, (CUstream stream), CURRENT fake->captures.erase(stream);
     return destroy(stream, fake->streams);)
FAKE(streamSynchronize, (CUstream stream),
     NOT_CAPTURING(stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED))
FAKE(streamWaitEvent, (CUstream stream, CUevent, unsigned),
     CURRENT NOT_CAPTURING(stream, CUDA_ERROR_STREAM_CAPTURE_ISOLATION))
FAKE(eventCreate, (CUevent * event, unsigned),
     CURRENT *event = create<CUevent>(fake->events);)
FAKE(eventDestroy, (CUevent event),
     CURRENT return destroy(event, fake->events);)
// An event of the runtime's own in a capture would be an error later.
FAKE(eventRecord, (CUevent, CUstream stream),
     CURRENT NOT_CAPTURING(stream, CUDA_ERROR_CAPTURED_EVENT))
FAKE(eventSynchronize, (CUevent), )
FAKE(eventElapsedTime, (float *milliseconds, CUevent, CUevent),
     *milliseconds = 0.25f;)
FAKE(streamBeginCapture, (CUstream stream, CUstreamCaptureMode),
     CURRENT NOT_CAPTURING(stream, CUDA_ERROR_ILLEGAL_STATE)
         fake->captures[stream];)
FAKE(streamEndCapture, (CUstream stream, CUgraph *graph),
     CURRENT auto capture = fake->captures.find(stream);
     if (capture == fake->captures.end()) return CUDA_ERROR_ILLEGAL_STATE;
     *graph = create<CUgraph>(fake->graphs);
     fake->recorded[fake->lastHandle] = std::move(capture->second);
     fake->captures.erase(capture);)
FAKE(streamIsCapturing, (CUstream stream, CUstreamCaptureStatus *status),
     CURRENT *status = fake->captures.count(stream)
                           ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                           : CU_STREAM_CAPTURE_STATUS_NONE;)
FAKE(threadExchangeCaptureMode, (CUstreamCaptureMode *), )
FAKE(graphInstantiate,
     (CUgraphExec * executable, CUgraph graph, unsigned long long),
     CURRENT if (!isLive(graph, fake->graphs)) return CUDA_ERROR_INVALID_HANDLE;
     *executable = create<CUgraphExec>(fake->executables);
     fake->recorded[fake->lastHandle] =
         fake->recorded[reinterpret_cast<uintptr_t>(graph)];)
FAKE(graphLaunch, (CUgraphExec executable, CUstream stream),
     CURRENT if (!isLive(executable, fake->executables)) //
     return CUDA_ERROR_INVALID_HANDLE;
     for (auto &work
          : fake->recorded[reinterpret_cast<uintptr_t>(executable)])
         put(stream, work);)
FAKE(graphDestroy, (CUgraph graph), return destroy(graph, fake->graphs);)
FAKE(graphExecDestroy, (CUgraphExec executable),
     CURRENT return destroy(executable, fake->executables);)

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
  PASCALINE_CUDA_GRAPH_FUNCTIONS(FAKE_MEMBER)
#undef FAKE_MEMBER
  table.graphs = hasGraphs;
  return std::make_shared<const runtime::Driver>(table, nullptr);
}

std::string FakeDriver::held() const {
  std::string text;
  auto add = [&](size_t number, const char *what) {
    if (number)
      text += (text.empty() ? "" : ", ") + std::to_string(number) + what;
  };
  add(memory.size(), " memory");
  add(size_t(contexts), " contexts");
  add(current.size(), " current contexts");
  add(size_t(modules), " modules");
  add(size_t(streams), " streams");
  add(size_t(events), " events");
  add(size_t(graphs), " graphs");
  add(size_t(executables), " executable graphs");
  return text;
}

size_t FakeDriver::count(const std::string &name) const {
  return size_t(std::count(calls.begin(), calls.end(), name));
}

} // namespace pascaline::testing
