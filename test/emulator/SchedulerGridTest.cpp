#include "SchedulerTest.h"

#include <thread>

namespace pascaline::emulator {
namespace {

uint64_t linear(const uint32_t (&at)[3], const uint32_t (&of)[3]) {
  return at[0] + uint64_t(of[0]) * (at[1] + uint64_t(of[1]) * at[2]);
}

// Counts visits of every thread of the grid and checks its coordinates.
void visit(ThreadState *s) {
  uint64_t thread = linear(s->tid, s->ntid);
  uint64_t block = linear(s->ctaid, s->nctaid);
  uint64_t threads = uint64_t(s->ntid[0]) * s->ntid[1] * s->ntid[2];
  bool good = s->laneId == thread % 32 && s->warpId == thread / 32;
  __atomic_add_fetch(&output<uint32_t>(s)[block * threads + thread],
                     good ? 1 : 1000, __ATOMIC_RELAXED);
}

TEST(SchedulerGrid, EveryThreadRunsOnce) {
  GridShape shapes[] = {
      {{1, 1, 1}, {1, 1, 1}},   {{1000, 1, 1}, {1, 1, 1}},
      {{7, 5, 3}, {4, 3, 5}},   {{1, 1, 2}, {1024, 1, 1}},
      {{3, 1, 1}, {1, 16, 64}}, {{129, 3, 1}, {33, 1, 1}},
  };
  for (const GridShape &shape : shapes) {
    size_t count = 1;
    for (int d = 0; d < 3; ++d)
      count *= shape.grid[d] * shape.block[d];
    DeviceArray<uint32_t> visits(count);
    uint32_t *pointer = visits.data();
    for (bool switches : {false, true})
      EXPECT_EQ(launch(visit, shape, &pointer, switches).message, "");
    for (size_t i = 0; i < count; ++i)
      ASSERT_EQ(visits[i], 2u) << i;
  }
}

// A block may wait for one with a lower number: stream-K kernels do.
void chain(ThreadState *s) {
  uint32_t *turn = output<uint32_t>(s);
  while (__atomic_load_n(turn, __ATOMIC_ACQUIRE) != s->ctaid[0])
    ;
  __atomic_store_n(turn, s->ctaid[0] + 1, __ATOMIC_RELEASE);
}

TEST(SchedulerGrid, ABlockMayWaitForALowerOne) {
  DeviceArray<uint32_t> turn(1);
  uint32_t *pointer = turn.data();
  EXPECT_EQ(launch(chain, shape(200, 1), &pointer, false).message, "");
  EXPECT_EQ(turn[0], 200u);
}

TEST(SchedulerGrid, SeveralHostThreadsMayLaunch) {
  std::vector<std::thread> hosts;
  for (int h = 0; h < 4; ++h)
    hosts.emplace_back([] {
      DeviceArray<uint32_t> visits(64 * 64);
      uint32_t *pointer = visits.data();
      for (int i = 0; i < 50; ++i)
        EXPECT_EQ(launch(visit, shape(64, 64), &pointer, i % 2).message, "");
      for (size_t i = 0; i < visits.count; ++i)
        ASSERT_EQ(visits[i], 50u);
    });
  for (std::thread &host : hosts)
    host.join();
}

// Each thread's local memory and each block's shared memory are its own.
void useWindows(ThreadState *s) {
  volatile uint32_t *local = reinterpret_cast<uint32_t *>(s->localBase);
  volatile uint32_t *shared = reinterpret_cast<uint32_t *>(s->sharedBase);
  uint32_t mark = s->ctaid[0] * 1024 + s->tid[0] + 1;
  for (int i = 0; i < 100; ++i)
    local[i] = mark;
  shared[s->tid[0]] = mark;
  pascalineEmulatorBarrier(s, 0, 0);
  bool good = shared[(s->tid[0] + 1) % s->ntid[0]] / 1024 == s->ctaid[0];
  for (int i = 0; i < 100; ++i)
    good &= local[i] == mark;
  good &= s->dynamicSharedBytes == 1024;
  output<uint32_t>(s)[s->ctaid[0] * s->ntid[0] + s->tid[0]] = good;
}

TEST(SchedulerGrid, WindowsArePrivate) {
  DeviceArray<uint32_t> good(50 * 256);
  uint32_t *pointer = good.data();
  EXPECT_EQ(
      launch(useWindows, shape(50, 256, 1024), &pointer, true, 400).message,
      "");
  for (size_t i = 0; i < good.count; ++i)
    ASSERT_EQ(good[i], 1u) << i;
}

} // namespace
} // namespace pascaline::emulator
