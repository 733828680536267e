#include "DriverTest.h"

namespace {

class DriverOccupancy : public DriverTest {
protected:
  static int blocks(CUfunction k, int threads, size_t shared = 0) {
    int blocks = -1;
    EXPECT_DONE(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, k, threads,
                                                            shared));
    return blocks;
  }
};

// Expected values by hand, from the limits of compute capability 6.1: 2048
// threads, 32 blocks, 96 KiB of shared memory in pieces of 256 bytes.
TEST_F(DriverOccupancy, ThreadsBlocksAndSharedMemoryLimitIt) {
  CUfunction k = kernel("");
  EXPECT_EQ(blocks(k, 1), 32);
  EXPECT_EQ(blocks(k, 64), 32);
  EXPECT_EQ(blocks(k, 65), 21); // three warps
  EXPECT_EQ(blocks(k, 256), 8);
  EXPECT_EQ(blocks(k, 1024), 2);
  EXPECT_EQ(blocks(k, 1025), 0);
  EXPECT_EQ(blocks(k, 64, 48 * 1024), 2);
  EXPECT_EQ(blocks(k, 64, 48 * 1024 + 1), 0);
  EXPECT_EQ(blocks(k, 64, 24 * 1024), 4);
  EXPECT_EQ(blocks(k, 64, 24 * 1024 + 1), 3);
  EXPECT_EQ(blocks(k, 64, SIZE_MAX), 0);
  CUfunction holds = kernel("mov.u32 %r1, s;\nst.shared.u32 [%r1], 1;\n",
                            ".shared .align 4 .b8 s[32768];\n");
  EXPECT_EQ(blocks(holds, 64), 3);
  EXPECT_EQ(blocks(holds, 64, 16384), 2);
  EXPECT_EQ(blocks(holds, 64, 16385), 0);
  int count;
  EXPECT_DONE(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&count, k,
                                                                   512, 0, 1));
  EXPECT_EQ(count, 4);
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&count, k, 512,
                                                                 0, 2),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&count, k, 0, 0),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&count, nullptr, 1, 0),
            CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(DriverOccupancy, FindsTheBlockThatFillsAnSm) {
  CUfunction k = kernel("");
  int grid = 0, block = 0;
  EXPECT_DONE(
      cuOccupancyMaxPotentialBlockSize(&grid, &block, k, nullptr, 0, 0));
  EXPECT_EQ(block, 1024);
  EXPECT_EQ(grid, 2 * 28);
  EXPECT_DONE(
      cuOccupancyMaxPotentialBlockSize(&grid, &block, k, nullptr, 0, 200));
  EXPECT_EQ(block, 128); // 16 of four warps fill it, of 192 threads ten do not
  EXPECT_EQ(grid, 16 * 28);
  // 100 bytes a thread: 96 KiB hold 983 threads, in whole warps 960.
  auto shared = [](int threads) { return size_t(threads) * 100; };
  EXPECT_DONE(cuOccupancyMaxPotentialBlockSize(&grid, &block, k, shared, 0, 0));
  EXPECT_LE(block * 100, 48 * 1024);
  EXPECT_EQ(blocks(k, block, size_t(block) * 100) * 28, grid);
  EXPECT_GE(grid / 28 * block, 960);
  EXPECT_EQ(cuOccupancyMaxPotentialBlockSize(&grid, &block, k, nullptr,
                                             48 * 1024 + 1, 0),
            CUDA_ERROR_INVALID_VALUE);
  CUfunction small = function(load(".visible .entry k() .maxntid 96, 1, 1 "
                                   "{ ret; }\n"));
  EXPECT_DONE(cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, small,
                                                        nullptr, 0, 0, 0));
  EXPECT_EQ(block, 64); // 32 blocks; of 96 threads 21
  EXPECT_EQ(grid, 32 * 28);
}

TEST_F(DriverOccupancy, HintsAreChecked) {
  CUfunction k = kernel("");
  EXPECT_DONE(cuFuncSetCacheConfig(k, 3));
  EXPECT_EQ(cuFuncSetCacheConfig(k, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_DONE(cuFuncSetAttribute(k, CUfunction_attribute(8), 48 * 1024));
  EXPECT_EQ(cuFuncSetAttribute(k, CUfunction_attribute(8), 48 * 1024 + 1),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_DONE(cuFuncSetAttribute(k, CUfunction_attribute(9), 100));
  EXPECT_EQ(cuFuncSetAttribute(k, CUfunction_attribute(9), 101),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncSetAttribute(k, CUfunction_attribute(0), 1),
            CUDA_ERROR_INVALID_VALUE);
}

} // namespace
