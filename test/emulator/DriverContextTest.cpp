#include "DriverTest.h"

#include <thread>

namespace {

class DriverContext : public DriverTest {};

TEST_F(DriverContext, ThePrimaryContextIsOneAndCounted) {
  CUcontext again = nullptr;
  EXPECT_DONE(cuDevicePrimaryCtxRetain(&again, 0));
  EXPECT_EQ(again, context);
  CUdeviceptr kept = allocate(100);
  EXPECT_DONE(cuDevicePrimaryCtxRelease_v2(0));
  EXPECT_DONE(cuMemFree_v2(kept));
  unsigned flags;
  int active = 0;
  EXPECT_DONE(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_EQ(active, 1);
}

TEST_F(DriverContext, ReleasingItFreesWhatIsInIt) {
  size_t before, after, total;
  EXPECT_DONE(cuMemGetInfo_v2(&before, &total));
  allocate(1 << 20);
  CUmodule module = load(".visible .global .b8 room[100000];\n"
                         ".visible .entry k() { ret; }\n");
  CUfunction k = function(module);
  EXPECT_DONE(cuDevicePrimaryCtxRelease_v2(0));
  EXPECT_EQ(cuMemGetInfo_v2(&after, &total), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT);

  CUcontext fresh = nullptr;
  EXPECT_DONE(cuDevicePrimaryCtxRetain(&fresh, 0));
  EXPECT_DONE(cuCtxSetCurrent(fresh));
  EXPECT_DONE(cuMemGetInfo_v2(&after, &total));
  EXPECT_EQ(after, before);
  EXPECT_EQ(launch(k, 1, 1, {}), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(DriverContext, CurrentContextsAreAStackAThread) {
  CUcontext other = nullptr, now = nullptr;
  EXPECT_DONE(cuCtxCreate_v2(&other, 0, 0));
  EXPECT_DONE(cuCtxGetCurrent(&now));
  EXPECT_EQ(now, other);
  std::thread([&] {
    CUdeviceptr pointer;
    CUcontext none = context;
    EXPECT_EQ(cuMemAlloc_v2(&pointer, 1), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cuCtxPopCurrent_v2(&none), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_DONE(cuCtxGetCurrent(&none));
    EXPECT_EQ(none, nullptr);
    EXPECT_DONE(cuCtxSetCurrent(other));
    EXPECT_DONE(cuMemAlloc_v2(&pointer, 1));
  }).join();
  EXPECT_DONE(cuCtxPopCurrent_v2(&now));
  EXPECT_EQ(now, other);
  EXPECT_DONE(cuCtxGetCurrent(&now));
  EXPECT_EQ(now, context);
  EXPECT_DONE(cuCtxDestroy_v2(other));
  EXPECT_EQ(cuCtxPushCurrent_v2(other), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxDestroy_v2(other), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxDestroy_v2(context), CUDA_ERROR_INVALID_CONTEXT);
}

// A failed kernel fails its context for good, and no other.
TEST_F(DriverContext, FailuresAreSticky) {
  CUcontext other = nullptr;
  EXPECT_DONE(cuCtxCreate_v2(&other, 0, 0));
  CUdeviceptr pointer = allocate(1024);
  CUfunction k = kernel("st.global.u32 [%rd0 + 1024], %r0;\n");
  EXPECT_EQ(launch(k, 1, 1, {&pointer}), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_ERROR_HAS("0 bytes past the end of an allocation of 1024 bytes");
  EXPECT_EQ(launch(k, 1, 1, {&pointer}), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuMemFree_v2(pointer), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_ERROR_HAS("kernel k, block (0,0,0), thread (0,0,0)");
  EXPECT_DONE(cuCtxPopCurrent_v2(nullptr));
  EXPECT_DONE(cuCtxSynchronize());
  EXPECT_DONE(cuCtxDestroy_v2(other));
}

} // namespace
