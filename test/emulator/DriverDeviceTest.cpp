#include "DriverTest.h"

#include <dlfcn.h>

namespace {

class DriverDevice : public DriverTest {};

int attribute(CUdevice_attribute which) {
  int value = -1;
  EXPECT_DONE(cuDeviceGetAttribute(&value, which, 0));
  return value;
}

TEST_F(DriverDevice, IsAGtx1080TiOfComputeCapability61) {
  int count = 0, major = 0, minor = 0;
  EXPECT_DONE(cuDeviceGetCount(&count));
  EXPECT_EQ(count, 1);
  char name[64];
  EXPECT_DONE(cuDeviceGetName(name, sizeof name, 0));
  EXPECT_STREQ(name, "Pascaline emulator (sm_61)");
  EXPECT_DONE(cuDeviceGetName(name, 5, 0));
  EXPECT_STREQ(name, "Pasc");
  EXPECT_DONE(cuDeviceComputeCapability(&major, &minor, 0));
  EXPECT_EQ(major * 10 + minor, 61);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), 6);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR), 1);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), 28);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK), 49152);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE), 2883584);
  size_t bytes = 0;
  EXPECT_DONE(cuDeviceTotalMem_v2(&bytes, 0));
  EXPECT_EQ(bytes, 256u << 20);
}

TEST_F(DriverDevice, RefusesWhatDoesNotExist) {
  int value;
  CUdevice device;
  EXPECT_EQ(resultBeforeInit, CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuInit(1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGet(&device, 1), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGet(&device, -1), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGetAttribute(&value, CUdevice_attribute(0), 0),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetAttribute(nullptr,
                                 CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverDevice, NamesErrors) {
  const char *text = nullptr;
  EXPECT_DONE(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
  EXPECT_STREQ(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_DONE(cuGetErrorString(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
  EXPECT_STREQ(text, "an illegal memory access was encountered");
  EXPECT_EQ(cuGetErrorName(CUresult(12345), &text), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(text, nullptr);
}

TEST_F(DriverDevice, FindsFunctionsByName) {
  void *function = nullptr;
  EXPECT_DONE(cuGetProcAddress("cuMemAlloc", &function, 12000, 0));
  EXPECT_EQ(function, reinterpret_cast<void *>(&cuMemAlloc_v2));
  EXPECT_DONE(cuGetProcAddress("cuLaunchKernel", &function, 12000, 0));
  EXPECT_EQ(function, reinterpret_cast<void *>(&cuLaunchKernel));
  // CUDA 12 gave this name to another function.
  EXPECT_DONE(cuGetProcAddress("cuGraphInstantiate", &function, 12000, 0));
  EXPECT_EQ(function, reinterpret_cast<void *>(&cuGraphInstantiateWithFlags));
  EXPECT_DONE(cuGetProcAddress("cuGraphInstantiate", &function, 11040, 0));
  EXPECT_EQ(function, reinterpret_cast<void *>(&cuGraphInstantiate_v2));
  EXPECT_EQ(cuGetProcAddress("cuNoSuchThing", &function, 12000, 0),
            CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(function, nullptr);
}

TEST_F(DriverDevice, ExportsTheDriverApiAlone) {
#define EXPECT_EXPORTED(name, symbol, parameters)                              \
  EXPECT_NE(dlsym(RTLD_DEFAULT, #symbol), nullptr) << #symbol;
  PASCALINE_CUDA_FUNCTIONS(EXPECT_EXPORTED)
  PASCALINE_CUDA_GRAPH_FUNCTIONS(EXPECT_EXPORTED)
#undef EXPECT_EXPORTED
  EXPECT_EQ(dlsym(RTLD_DEFAULT, "pascalineEmulatorBarrier"), nullptr);
}

} // namespace
