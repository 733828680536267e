// Device - see Device.h.

#include "test/compiler/Device.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

namespace pascaline::test {

Device &Device::get() {
  static Device device;
  return device;
}

Device::Device() {
  const char *path = std::getenv("PASCALINE_EMULATOR");
  void *library =
      dlopen(path ? path : PASCALINE_TEST_EMULATOR, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::abort();
  }
#define LOAD(name, symbol, parameters)                                         \
  name = reinterpret_cast<CUresult(*) parameters>(dlsym(library, #symbol));
  PASCALINE_CUDA_FUNCTIONS(LOAD)
#undef LOAD
  CUcontext context;
  if (init(0) || devicePrimaryCtxRetain(&context, 0) || ctxPushCurrent(context))
    std::abort();
}

CUdeviceptr Device::allocate(size_t bytes, unsigned char fill) {
  CUdeviceptr pointer = 0;
  if (memAlloc(&pointer, std::max<size_t>(bytes, 4)))
    std::abort();
  std::vector<char> content(bytes, fill);
  memcpyHtoDAsync(pointer, content.data(), bytes, nullptr);
  return pointer;
}

CUdeviceptr Device::upload(const std::vector<float> &values) {
  CUdeviceptr pointer = allocate(values.size() * 4, 0);
  memcpyHtoDAsync(pointer, values.data(), values.size() * 4, nullptr);
  return pointer;
}

std::vector<float> Device::download(CUdeviceptr pointer, size_t count) {
  std::vector<float> values(count);
  memcpyDtoHAsync(values.data(), pointer, count * 4, nullptr);
  return values;
}

CUdeviceptr Device::uploadBytes(const std::vector<char> &bytes) {
  CUdeviceptr pointer = allocate(bytes.size(), 0);
  memcpyHtoDAsync(pointer, bytes.data(), bytes.size(), nullptr);
  return pointer;
}

void Device::downloadBytes(CUdeviceptr pointer, std::vector<char> &bytes) {
  memcpyDtoHAsync(bytes.data(), pointer, bytes.size(), nullptr);
}

void Device::free(CUdeviceptr pointer) { memFree(pointer); }

std::string Device::run(const std::string &ptx, const std::string &entry,
                        std::array<int64_t, 3> grid, int64_t threads,
                        std::vector<CUdeviceptr> pointers, int launches) {
  CUmodule module;
  std::vector<char> log(4096);
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
  if (moduleLoadDataEx(&module, ptx.c_str(), 2, options, values))
    return std::string("the module does not load: ") + log.data();
  CUfunction function;
  if (moduleGetFunction(&function, module, entry.c_str()))
    return "the module has no " + entry;
  std::vector<void *> parameters;
  for (CUdeviceptr &pointer : pointers)
    parameters.push_back(&pointer);
  CUresult result = CUDA_SUCCESS;
  for (int i = 0; i < launches && !result; ++i)
    result = launchKernel(function, grid[0], grid[1], grid[2], threads, 1, 1, 0,
                          nullptr, parameters.data(), nullptr);
  if (!result)
    result = streamSynchronize(nullptr);
  moduleUnload(module);
  if (!result)
    return "";
  const char *text = "";
  getErrorString(result, &text);
  return std::string("the launch fails: ") + text;
}

} // namespace pascaline::test
