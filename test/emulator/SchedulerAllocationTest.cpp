// Running a block allocates nothing: what a launch needs does not grow with
// its blocks. Nor is anything left of one. Counts every operator new and delete
// of the process.
#include "SchedulerTest.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<uint64_t> allocations{0};
std::atomic<int64_t> live{0};

} // namespace

void *operator new(size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  live.fetch_add(1, std::memory_order_relaxed);
  void *memory = std::malloc(bytes);
  if (!memory)
    throw std::bad_alloc();
  return memory;
}
void operator delete(void *memory) noexcept {
  live.fetch_sub(memory != nullptr, std::memory_order_relaxed);
  std::free(memory);
}
void operator delete(void *memory, size_t) noexcept {
  ::operator delete(memory);
}

namespace pascaline::emulator {
namespace {

void waitsTwice(ThreadState *s) {
  auto *shared = reinterpret_cast<uint32_t *>(s->sharedBase);
  shared[s->tid[0]] = s->tid[0];
  pascalineEmulatorBarrier(s, 0, 0);
  uint32_t value = shared[(s->tid[0] + 1) % s->ntid[0]];
  value += uint32_t(pascalineEmulatorShuffle(s, 3, value, 0, 31, ~0u));
  pascalineEmulatorBarrier(s, 0, 0);
  if (s->tid[0] == 0)
    __atomic_add_fetch(output<uint32_t>(s), value, __ATOMIC_RELAXED);
}

uint64_t allocationsOf(uint32_t blocks, bool switches,
                       ThreadFunction function) {
  DeviceArray<uint32_t> sums(1);
  uint32_t *pointer = sums.data();
  GridShape of = shape(blocks, 64, 256);
  uint64_t before = allocations;
  LaunchFailure failure = launch(function, of, &pointer, switches);
  uint64_t after = allocations;
  EXPECT_EQ(failure.message, "");
  return after - before;
}

TEST(SchedulerAllocation, NoneABlock) {
  ThreadFunction plain = [](ThreadState *) {};
  allocationsOf(100, true, waitsTwice); // workers, stacks
  uint64_t few = allocationsOf(100, true, waitsTwice);
  uint64_t many = allocationsOf(2000, true, waitsTwice);
  EXPECT_LT(many, few + 20); // 1900 blocks more
  few = allocationsOf(100, false, plain);
  many = allocationsOf(2000, false, plain);
  EXPECT_LT(many, few + 20);
  uint64_t before = allocations;
  ::operator delete(::operator new(1)); // and they are counted
  EXPECT_GT(allocations, before);
}

// The thread that made it never returns from the hook.
TEST(SchedulerAllocation, NothingIsLeftOfAMistake) {
  auto left = [](ThreadFunction function) {
    int64_t before = live;
    EXPECT_NE(launch(function, shape(1, 64), nullptr).message, "");
    return live - before;
  };
  ThreadFunction mistakes[] = {
      [](ThreadState *s) { pascalineEmulatorBarrier(s, 16, 0); },
      [](ThreadState *s) { pascalineEmulatorShuffle(s, 3, 0, 0, 31, 0); }};
  for (ThreadFunction mistake : mistakes) {
    left(mistake); // workers, stacks
    EXPECT_EQ(left(mistake), 0);
  }
}

} // namespace
} // namespace pascaline::emulator
