#include "DriverTest.h"

#include <cstdlib>
#include <cstring>
#include <numeric>
#include <thread>

namespace {

class DriverMemory : public DriverTest {};

TEST_F(DriverMemory, CopiesAndFills) {
  std::vector<int> values(1000);
  std::iota(values.begin(), values.end(), 5);
  CUdeviceptr a = upload(values), b = allocate(4000);
  EXPECT_EQ(a % 256, 0u);
  EXPECT_DONE(cuMemcpyDtoD_v2(b, a, 4000));
  EXPECT_EQ(download<int>(b, 1000), values);
  EXPECT_DONE(cuMemsetD8Async(b, 0xab, 8, nullptr));
  EXPECT_DONE(cuMemsetD32_v2(b + 8, 77, 2));
  EXPECT_DONE(cuMemsetD16_v2(b + 16, 0x1234, 2));
  EXPECT_EQ(download<int>(b, 6),
            (std::vector<int>{int(0xabababab), int(0xabababab), 77, 77,
                              0x12341234, 10}));
  EXPECT_DONE(cuMemcpy(a, b, 8)); // unified addressing
  EXPECT_EQ(download<int>(a, 1)[0], int(0xabababab));
  // Overlapping ranges move as if through a buffer.
  EXPECT_DONE(cuMemcpyDtoDAsync_v2(a + 400, a, 3600, nullptr));
  EXPECT_EQ(download<int>(a + 404, 1)[0], int(0xabababab));
  EXPECT_EQ(download<int>(a + 800, 1)[0], 105);
}

TEST_F(DriverMemory, ChecksEveryRange) {
  char host[64] = {};
  CUdeviceptr pointer = allocate(64);
  EXPECT_DONE(cuMemcpyHtoD_v2(pointer, host, 64));
  EXPECT_EQ(cuMemcpyHtoD_v2(pointer, host, 65), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ERROR_HAS("a range of 65 bytes is no device memory: there are 64 "
                   "bytes left in its allocation of 64");
  EXPECT_EQ(cuMemcpyHtoD_v2(pointer - 1, host, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoH_v2(host, pointer + 60, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoH_v2(host, 0, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoH_v2(host, reinterpret_cast<CUdeviceptr>(host), 8),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoH_v2(nullptr, pointer, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoD_v2(pointer, host, SIZE_MAX), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD32_v2(pointer, 0, SIZE_MAX / 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD32_v2(pointer + 1, 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_DONE(cuMemcpyHtoD_v2(0, nullptr, 0));

  CUdeviceptr base;
  size_t bytes;
  EXPECT_DONE(cuMemGetAddressRange_v2(&base, &bytes, pointer + 63));
  EXPECT_EQ(base, pointer);
  EXPECT_EQ(bytes, 64u);
  EXPECT_EQ(cuMemFree_v2(pointer + 32), CUDA_ERROR_INVALID_VALUE);
  EXPECT_DONE(cuMemFree_v2(pointer));
  EXPECT_EQ(cuMemFree_v2(pointer), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoD_v2(pointer, host, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoD_v2(allocate(8), reinterpret_cast<void *>(pointer), 1),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverMemory, RunsOut) {
  CUdeviceptr pointer = 0;
  size_t free, total;
  EXPECT_DONE(cuMemGetInfo_v2(&free, &total));
  EXPECT_EQ(total, 256u << 20);
  EXPECT_EQ(cuMemAlloc_v2(&pointer, total + 1), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_ERROR_HAS("an allocation of 268435457 bytes does not fit");
  EXPECT_EQ(cuMemAlloc_v2(&pointer, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 0), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr most = allocate(free);
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 1), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_DONE(cuMemFree_v2(most));
  EXPECT_DONE(cuMemAlloc_v2(&pointer, 1));
}

TEST_F(DriverMemory, PinnedHostMemory) {
  void *memory = nullptr;
  EXPECT_DONE(cuMemAllocHost_v2(&memory, 10000));
  std::memset(memory, 1, 10000);
  EXPECT_DONE(cuMemFreeHost(memory));
  EXPECT_EQ(cuMemFreeHost(memory), CUDA_ERROR_INVALID_VALUE);
}

// Only where PASCALINE_EMULATOR_POISON=1 was set before the first call; ctest
// runs this one so as well.
TEST_F(DriverMemory, PoisonsWhatCudaLeavesUndefined) {
  const char *poison = getenv("PASCALINE_EMULATOR_POISON");
  int expected = poison ? -1 : 0;
  CUdeviceptr pointer = allocate(4 * 64);
  EXPECT_EQ(download<int>(pointer, 64), std::vector<int>(64, expected));
  CUfunction k = kernel("shl.b32 %r1, %r0, 2;\nmov.u32 %r2, s;\n"
                        "add.u32 %r2, %r2, %r1;\nld.shared.u32 %r3, [%r2];\n"
                        "mul.wide.u32 %rd1, %r1, 1;\n"
                        "add.u64 %rd1, %rd0, %rd1;\n"
                        "st.shared.u32 [%r2], 5;\n"
                        "st.global.u32 [%rd1], %r3;\n",
                        ".shared .align 4 .b8 s[256];\n");
  if (poison) {
    EXPECT_DONE(launch(k, 20, 64, {&pointer}));
    EXPECT_EQ(download<int>(pointer, 64), std::vector<int>(64, -1));
  }
}

// Copies on one thread, allocations coming and going on others.
TEST_F(DriverMemory, ThreadsMayAllocateAndCopyAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([this, t] {
      ASSERT_DONE(cuCtxPushCurrent_v2(context));
      for (int i = 0; i < 200; ++i) {
        std::vector<int> values(1 + i * 37 % 5000, t * 1000 + i);
        CUdeviceptr pointer = upload(values);
        ASSERT_EQ(download<int>(pointer, values.size()), values);
        ASSERT_DONE(cuMemFree_v2(pointer));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace
