#include "runtime/emulator/driver/Capture.h"
#include "runtime/emulator/driver/Injection.h"

#include <algorithm>

namespace pascaline::emulator {
namespace {

std::string &lastError() {
  static thread_local std::string sentence;
  return sentence;
}

// CU_STREAM_PER_THREAD; CU_STREAM_LEGACY is 1. The documentation defines them
// as numbers.
constexpr uintptr_t kStreamPerThread = 2;

template <class T> void eraseOf(Table<T> &table, const CUctx_st *context) {
  for (auto i = table.begin(); i != table.end();)
    i = i->second->context == context ? table.erase(i) : std::next(i);
}

} // namespace

Driver &Driver::get() {
  static Driver *driver = new Driver;
  return *driver;
}

CUresult fail(CUresult result, std::string sentence) {
  lastError() = std::move(sentence);
  return result;
}

CUresult invalidValue(std::string sentence) {
  return fail(CUDA_ERROR_INVALID_VALUE, std::move(sentence));
}

CUresult invalidHandle(const char *what) {
  return fail(CUDA_ERROR_INVALID_HANDLE,
              std::string(what) + " is not one of this context's, or is gone");
}

std::vector<CUcontext> &contextStack() {
  static thread_local std::vector<CUcontext> stack;
  return stack;
}

void setFailed(CUctx_st &context, CUresult result,
               const std::string &sentence) {
  std::lock_guard<std::mutex> lock(Driver::get().objects);
  if (context.failed != CUDA_SUCCESS)
    return;
  context.failure = sentence;
  context.failed = result;
}

CUresult enter(ContextRef *context, const char *call) {
  Driver &driver = Driver::get();
  if (!driver.initialized)
    return fail(CUDA_ERROR_NOT_INITIALIZED, "cuInit was not called");
  CUresult injected = injectedFailure(call);
  if (contextStack().empty() || !contextStack().back())
    return fail(CUDA_ERROR_INVALID_CONTEXT,
                "no context is current on this thread");
  *context = driver.find(driver.contexts, contextStack().back());
  if (!*context)
    return fail(CUDA_ERROR_CONTEXT_IS_DESTROYED,
                "the current context has been destroyed");
  CUresult failed = (*context)->failed;
  if (failed != CUDA_SUCCESS)
    return fail(failed, (*context)->failure);
  if (isSticky(injected))
    setFailed(**context, injected, lastError());
  return injected;
}

CUresult checkDevice(CUdevice device, const char *call) {
  if (!Driver::get().initialized)
    return fail(CUDA_ERROR_NOT_INITIALIZED, "cuInit was not called");
  if (CUresult result = injectedFailure(call))
    return result;
  if (device < 0 || device >= deviceCount())
    return fail(CUDA_ERROR_INVALID_DEVICE,
                "device " + std::to_string(device) +
                    " does not exist; the emulator has " +
                    std::to_string(deviceCount()) +
                    ", counted from 0 (PASCALINE_EMULATOR_DEVICES)");
  return CUDA_SUCCESS;
}

CUresult checkStream(CUstream stream, const ContextRef &context) {
  if (reinterpret_cast<uintptr_t>(stream) <= kStreamPerThread)
    return CUDA_SUCCESS;
  Driver &driver = Driver::get();
  auto found = driver.find(driver.streams, stream);
  if (!found || found->context != context.get())
    return invalidHandle("the stream");
  return CUDA_SUCCESS;
}

void forgetParts(const CUmod_st &module) {
  Driver &driver = Driver::get();
  for (auto &function : module.functions)
    driver.functions.erase(function.get());
  for (auto &texture : module.textures)
    driver.textureReferences.erase(texture.get());
}

void destroyContext(const ContextRef &context) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.objects);
  driver.contexts.erase(context.get());
  for (auto &[handle, module] : driver.modules)
    if (module->context == context.get())
      forgetParts(*module);
  eraseOf(driver.modules, context.get());
  destroyTexturesOf(context.get());
  eraseOf(driver.graphs, context.get());
  eraseOf(driver.executables, context.get());
  for (auto &[handle, stream] : driver.streams)
    if (stream->context == context.get())
      forgetCapture(*stream);
  eraseOf(driver.streams, context.get());
  eraseOf(driver.events, context.get());
  DeviceMemory::get().releaseAllOf(context.get());
}

} // namespace pascaline::emulator

const char *pascalineEmulatorLastError(void) {
  return pascaline::emulator::lastError().c_str();
}
