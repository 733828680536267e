// SchedulerTest.h - runs thread functions written in C++, as translation would
// make them, on the scheduler. What they compute goes to device memory.
#pragma once

#include "runtime/emulator/scheduler/Scheduler.h"

#include <gtest/gtest.h>
#include <vector>

namespace pascaline::emulator {

// A buffer of device memory, zeroed.
template <class T> class DeviceArray {
public:
  explicit DeviceArray(size_t count) : count(count) {
    EXPECT_EQ(DeviceMemory::get().allocate(count * sizeof(T), this, &address),
              AllocationStatus::Done);
    std::fill_n(data(), count, T());
  }
  ~DeviceArray() { DeviceMemory::get().release(address); }
  T *data() { return reinterpret_cast<T *>(address); }
  T &operator[](size_t i) { return data()[i]; }
  const size_t count;
  uint64_t address = 0;
};

struct GridShape {
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t sharedBytes = 0;
};

inline GridShape shape(uint32_t blocks, uint32_t threads,
                       uint32_t sharedBytes = 0) {
  return {{blocks, 1, 1}, {threads, 1, 1}, sharedBytes};
}

// `params` is what ThreadState::params points to. `switches` as translation
// would say it: the function may wait.
inline LaunchFailure launch(ThreadFunction function, const GridShape &shape,
                            const void *params, bool switches = true,
                            uint32_t localBytes = 0) {
  KernelInfo kernel;
  kernel.name = "k";
  kernel.function = function;
  kernel.switches = switches;
  kernel.localBytes = localBytes;
  Launch launch;
  launch.kernel = &kernel;
  launch.params = params;
  for (int d = 0; d < 3; ++d) {
    launch.grid[d] = shape.grid[d];
    launch.block[d] = shape.block[d];
  }
  launch.dynamicSharedBytes = shape.sharedBytes;
  return Scheduler::get().run(launch);
}

// The one parameter of most tests: an output array.
template <class T> T *output(ThreadState *state) {
  return *static_cast<T *const *>(state->params);
}

} // namespace pascaline::emulator
