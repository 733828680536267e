// DriverTest.h - a context for a test, and short forms of common calls.
#pragma once

#include "runtime/emulator/driver/Api.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

// What a call without cuInit answered, before main ran any test.
extern CUresult resultBeforeInit;

#define EXPECT_DONE(call) EXPECT_EQ(call, CUDA_SUCCESS) << lastError()
#define ASSERT_DONE(call) ASSERT_EQ(call, CUDA_SUCCESS) << lastError()

inline std::string lastError() { return pascalineEmulatorLastError(); }

#define EXPECT_ERROR_HAS(part)                                                 \
  EXPECT_NE(lastError().find(part), std::string::npos) << lastError()

class DriverTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_DONE(cuInit(0));
    ASSERT_DONE(cuDevicePrimaryCtxRetain(&context, 0));
    ASSERT_DONE(cuCtxPushCurrent_v2(context));
  }
  void TearDown() override {
    EXPECT_DONE(cuCtxPopCurrent_v2(nullptr));
    EXPECT_DONE(cuDevicePrimaryCtxRelease_v2(0));
  }

  CUdeviceptr allocate(size_t bytes) {
    CUdeviceptr pointer = 0;
    EXPECT_DONE(cuMemAlloc_v2(&pointer, bytes));
    return pointer;
  }
  template <class T> CUdeviceptr upload(const std::vector<T> &values) {
    CUdeviceptr pointer = allocate(values.size() * sizeof(T));
    EXPECT_DONE(
        cuMemcpyHtoD_v2(pointer, values.data(), values.size() * sizeof(T)));
    return pointer;
  }
  template <class T> std::vector<T> download(CUdeviceptr from, size_t count) {
    std::vector<T> values(count);
    EXPECT_DONE(cuMemcpyDtoH_v2(values.data(), from, count * sizeof(T)));
    return values;
  }

  // `body` between a header for sm_61 and nothing; see kernel().
  CUmodule load(const std::string &body) {
    CUmodule module = nullptr;
    EXPECT_DONE(cuModuleLoadData(&module, (header() + body).c_str()));
    return module;
  }
  static std::string header() {
    return ".version 6.0\n.target sm_61\n.address_size 64\n";
  }
  CUfunction function(CUmodule module, const char *name = "k") {
    CUfunction found = nullptr;
    EXPECT_DONE(cuModuleGetFunction(&found, module, name));
    return found;
  }
  // A kernel k of one pointer parameter, which is in %rd0; %tid.x is in %r0.
  CUfunction kernel(const std::string &instructions,
                    const std::string &declarations = "") {
    return function(
        load(declarations + ".visible .entry k(.param .u64 p) {\n" +
             ".reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<32>; "
             ".reg .f32 %f<8>;\n" +
             "ld.param.u64 %rd0, [p];\nmov.u32 %r0, %tid.x;\n" + instructions +
             "ret;\n}\n"));
  }
  static CUresult launch(CUfunction function, unsigned grid, unsigned block,
                         std::vector<void *> parameters,
                         unsigned sharedBytes = 0, CUstream stream = nullptr) {
    return cuLaunchKernel(function, grid, 1, 1, block, 1, 1, sharedBytes,
                          stream, parameters.data(), nullptr);
  }

  CUcontext context = nullptr;
};
