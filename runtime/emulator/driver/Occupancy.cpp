// Occupancy.cpp - how many blocks of a kernel an SM of sm_61 holds, from its
// threads and shared memory. Registers would limit it too, but PTX's are
// virtual: only ptxas knows. So the answers are upper bounds.
// Test: test/emulator/DriverOccupancyTest.cpp.
#include "runtime/emulator/driver/Objects.h"
#include "runtime/emulator/scheduler/Block.h"

#include <algorithm>

using namespace pascaline::emulator;

namespace {

// Of an SM of compute capability 6.1 ("Technical Specifications per Compute
// Capability", CUDA C++ Programming Guide).
constexpr uint64_t kMaxBlocks = 32, kMaxWarps = 64, kWarp = 32;
constexpr uint64_t kSharedBytes = 98304, kSharedGranule = 256;
constexpr int kSms = 28;

CUresult enterWith(CUfunction function, unsigned flags, ContextRef *context,
                   std::shared_ptr<CUmod_st> *module,
                   const char *call = __builtin_FUNCTION()) {
  if (CUresult result = enter(context, call))
    return result;
  if (flags > 1) // 1: caching override
    return invalidValue("occupancy flags " + std::to_string(flags) +
                        " are not known");
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.objects);
  auto found = driver.functions.find(function);
  if (found == driver.functions.end())
    return invalidHandle("the function");
  *module = found->second;
  return CUDA_SUCCESS;
}

int blocksOf(const KernelInfo &kernel, uint64_t threads,
             uint64_t dynamicShared) {
  uint64_t warps = (threads + kWarp - 1) / kWarp;
  uint64_t shared = kernel.staticSharedBytes + dynamicShared;
  if (threads > kernel.maxThreads || shared > kMaxSharedBytesPerBlock)
    return 0;
  shared = (shared + kSharedGranule - 1) / kSharedGranule * kSharedGranule;
  uint64_t blocks = std::min(kMaxBlocks, kMaxWarps / warps);
  return int(shared ? std::min(blocks, kSharedBytes / shared) : blocks);
}

CUresult maxActiveBlocks(int *blocks, const KernelInfo &kernel, int threads,
                         size_t dynamicShared) {
  if (!blocks || threads <= 0)
    return invalidValue("blocks is null, or a block of " +
                        std::to_string(threads) + " threads");
  *blocks = dynamicShared > kMaxSharedBytesPerBlock
                ? 0
                : blocksOf(kernel, uint64_t(threads), dynamicShared);
  return CUDA_SUCCESS;
}

// The block that puts most threads on an SM, the largest of equals.
CUresult maxPotentialBlock(int *grid, int *block, const KernelInfo &kernel,
                           CUoccupancyB2DSize sharedOf, size_t dynamicShared,
                           int limit) {
  if (!grid || !block || limit < 0)
    return invalidValue("grid or block is null, or a limit of " +
                        std::to_string(limit) + " threads");
  int most = int(std::min<uint64_t>(kernel.maxThreads, kMaxThreadsPerBlock));
  if (limit)
    most = std::min(most, limit);
  int best = 0, bestThreads = 0, bestBlocks = 0;
  // From the largest, which need not be whole warps, down by warps.
  for (int threads = most; threads > 0;
       threads = (threads - 1) / int(kWarp) * int(kWarp)) {
    size_t shared = sharedOf ? sharedOf(threads) : dynamicShared;
    int blocks = 0;
    maxActiveBlocks(&blocks, kernel, threads, shared);
    if (blocks * threads > best)
      best = blocks * threads, bestThreads = threads, bestBlocks = blocks;
  }
  if (!best)
    return invalidValue("kernel " + kernel.name +
                        ": no block of it fits an SM, it takes too much "
                        "shared memory");
  *block = bestThreads;
  *grid = bestBlocks * kSms;
  return CUDA_SUCCESS;
}

} // namespace

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                     CUfunction function,
                                                     int threads,
                                                     size_t dynamicShared) {
  ContextRef context;
  std::shared_ptr<CUmod_st> module;
  if (CUresult result = enterWith(function, 0, &context, &module))
    return result;
  return maxActiveBlocks(blocks, *function->kernel, threads, dynamicShared);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, CUfunction function, int threads, size_t dynamicShared,
    unsigned flags) {
  ContextRef context;
  std::shared_ptr<CUmod_st> module;
  if (CUresult result = enterWith(function, flags, &context, &module))
    return result;
  return maxActiveBlocks(blocks, *function->kernel, threads, dynamicShared);
}

CUresult cuOccupancyMaxPotentialBlockSize(int *grid, int *block,
                                          CUfunction function,
                                          CUoccupancyB2DSize sharedOf,
                                          size_t dynamicShared, int limit) {
  ContextRef context;
  std::shared_ptr<CUmod_st> module;
  if (CUresult result = enterWith(function, 0, &context, &module))
    return result;
  return maxPotentialBlock(grid, block, *function->kernel, sharedOf,
                           dynamicShared, limit);
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block,
                                                   CUfunction function,
                                                   CUoccupancyB2DSize sharedOf,
                                                   size_t dynamicShared,
                                                   int limit, unsigned flags) {
  ContextRef context;
  std::shared_ptr<CUmod_st> module;
  if (CUresult result = enterWith(function, flags, &context, &module))
    return result;
  return maxPotentialBlock(grid, block, *function->kernel, sharedOf,
                           dynamicShared, limit);
}
