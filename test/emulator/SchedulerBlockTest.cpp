// Barriers, shuffles and votes, against values computed by the rule book.
#include "SchedulerTest.h"

namespace pascaline::emulator {
namespace {

// A tree sum over the block in shared memory, a barrier a step.
void blockSum(ThreadState *s) {
  volatile uint32_t *shared = reinterpret_cast<uint32_t *>(s->sharedBase);
  uint32_t tid = s->tid[0];
  shared[tid] = s->ctaid[0] + tid;
  pascalineEmulatorBarrier(s, 0, 0);
  for (uint32_t half = s->ntid[0] / 2; half; half /= 2) {
    if (tid < half)
      shared[tid] = shared[tid] + shared[tid + half];
    pascalineEmulatorBarrier(s, 0, 0);
  }
  if (tid == 0)
    output<uint32_t>(s)[s->ctaid[0]] = shared[0];
}

TEST(SchedulerBlock, BarriersOrderSharedMemory) {
  for (uint32_t threads : {1u, 2u, 32u, 128u, 1024u}) {
    DeviceArray<uint32_t> sums(100);
    uint32_t *pointer = sums.data();
    EXPECT_EQ(
        launch(blockSum, shape(100, threads, threads * 4), &pointer).message,
        "");
    for (uint32_t b = 0; b < 100; ++b)
      ASSERT_EQ(sums[b], b * threads + threads * (threads - 1) / 2);
  }
}

// Half of the block leaves; the other half still meets, 20 times.
void earlyExit(ThreadState *s) {
  if (s->tid[0] % 2)
    return;
  for (int i = 0; i < 20; ++i)
    pascalineEmulatorBarrier(s, i % 16, 0);
  output<uint32_t>(s)[s->tid[0]] = 1;
}

TEST(SchedulerBlock, ExitedThreadsCountAsArrived) {
  DeviceArray<uint32_t> seen(100);
  uint32_t *pointer = seen.data();
  EXPECT_EQ(launch(earlyExit, shape(1, 100), &pointer).message, "");
  for (uint32_t i = 0; i < 100; ++i)
    EXPECT_EQ(seen[i], i % 2 == 0);
}

// Warps 0 and 1 produce, 2 and 3 consume: bar.arrive on one side, bar.sync on
// the other, 128 threads together. Then each pair alone, 64 threads.
void producerConsumer(ThreadState *s) {
  volatile uint32_t *shared = reinterpret_cast<uint32_t *>(s->sharedBase);
  uint32_t tid = s->tid[0];
  if (tid < 64) {
    shared[tid] = tid * 3;
    pascalineEmulatorBarrierArrive(s, 1, 128);
    pascalineEmulatorBarrier(s, 2, 64);
  } else {
    pascalineEmulatorBarrier(s, 1, 128);
    output<uint32_t>(s)[tid - 64] = shared[tid - 64];
    pascalineEmulatorBarrier(s, 3, 64);
  }
}

TEST(SchedulerBlock, BarriersOfPartOfTheBlock) {
  DeviceArray<uint32_t> got(64);
  uint32_t *pointer = got.data();
  EXPECT_EQ(launch(producerConsumer, shape(1, 128, 256), &pointer).message, "");
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(got[i], i * 3);
}

// A barrier counts whole warps: 40 threads are two.
void partialWarp(ThreadState *s) {
  pascalineEmulatorBarrier(s, 0, 64);
  output<uint32_t>(s)[s->tid[0]] =
      pascalineEmulatorBarrierReduce(s, 1, 0, 0, s->tid[0] < 35);
}

TEST(SchedulerBlock, PartialWarpsCountAsWhole) {
  DeviceArray<uint32_t> got(40);
  uint32_t *pointer = got.data();
  EXPECT_EQ(launch(partialWarp, shape(1, 40), &pointer).message, "");
  for (uint32_t i = 0; i < 40; ++i)
    EXPECT_EQ(got[i], 35u);
}

void reduce(ThreadState *s) {
  uint32_t tid = s->tid[0];
  uint32_t *out = output<uint32_t>(s) + tid * 6;
  out[0] = pascalineEmulatorBarrierReduce(s, 0, 0, 0, tid % 3 == 0);
  out[1] = pascalineEmulatorBarrierReduce(s, 0, 0, 1, tid != 70);
  out[2] = pascalineEmulatorBarrierReduce(s, 0, 0, 1, 5);
  out[3] = pascalineEmulatorBarrierReduce(s, 0, 0, 2, tid == 70);
  out[4] = pascalineEmulatorBarrierReduce(s, 0, 0, 2, 0);
  out[5] = pascalineEmulatorBarrierReduce(s, 0, 0, 0, 1);
}

TEST(SchedulerBlock, BarriersReducePredicates) {
  DeviceArray<uint32_t> got(96 * 6);
  uint32_t *pointer = got.data();
  EXPECT_EQ(launch(reduce, shape(1, 96), &pointer).message, "");
  const uint32_t expected[6] = {32, 0, 1, 1, 0, 96};
  for (uint32_t i = 0; i < 96 * 6; ++i)
    ASSERT_EQ(got[i], expected[i % 6]) << i;
}

// The PTX ISA's pseudo code for shfl, written down a second time.
struct Shuffled {
  int lane;
  bool predicate;
};
Shuffled reference(int mode, int lane, int b, int c) {
  int clamp = c & 31, mask = c >> 8 & 31;
  int maxLane = (lane & mask) | (clamp & ~mask), minLane = lane & mask;
  int j = mode == 0   ? lane - (b & 31)
          : mode == 1 ? lane + (b & 31)
          : mode == 2 ? lane ^ (b & 31)
                      : minLane | (b & 31 & ~mask);
  bool p = mode == 0 ? j >= maxLane : j <= maxLane;
  return {p ? j : lane, p};
}

struct ShuffleParams {
  uint64_t *out;
  uint32_t mode, b, c;
};
void shuffleOnce(ThreadState *s) {
  auto *p = static_cast<const ShuffleParams *>(s->params);
  p->out[s->tid[0]] =
      pascalineEmulatorShuffle(s, p->mode, 100 + s->tid[0], p->b, p->c, ~0u);
}

TEST(SchedulerBlock, ShufflesFollowTheIsa) {
  DeviceArray<uint64_t> got(64);
  for (uint32_t mode = 0; mode < 4; ++mode)
    for (uint32_t b : {0, 1, 5, 16, 31, 33})
      for (uint32_t c : {0x0, 0x1f, 0x181f, 0x1c00, 0x1007, 0x1e1f}) {
        ShuffleParams params{got.data(), mode, b, c};
        ASSERT_EQ(launch(shuffleOnce, shape(1, 64), &params).message, "");
        for (int lane = 0; lane < 64; ++lane) {
          Shuffled expected = reference(mode, lane % 32, b, c);
          ASSERT_EQ(got[lane], (uint64_t(expected.predicate) << 32 |
                                (100u + (lane & 32) + expected.lane)))
              << "mode " << mode << " b " << b << " c " << c << " lane "
              << lane;
        }
      }
}

// Sums by butterflies, many times over: results may not be overwritten by
// lanes that are already at the next shuffle.
void warpSum(ThreadState *s) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < 50; ++i) {
    uint32_t v = s->tid[0] * i;
    for (int step = 16; step; step /= 2)
      v += uint32_t(pascalineEmulatorShuffle(s, 2, v, step, 31, ~0u));
    sum += v;
  }
  output<uint32_t>(s)[s->tid[0]] = sum;
}

TEST(SchedulerBlock, ShufflesInALoop) {
  DeviceArray<uint32_t> got(1024);
  uint32_t *pointer = got.data();
  EXPECT_EQ(launch(warpSum, shape(1, 1024), &pointer).message, "");
  for (uint32_t t = 0; t < 1024; ++t)
    ASSERT_EQ(got[t], 1225 * (32 * (t / 32 * 32) + 496));
}

// Two halves of a warp shuffle apart, by their masks.
void halves(ThreadState *s) {
  bool low = s->laneId < 16;
  uint32_t v = s->laneId;
  if (low)
    v = pascalineEmulatorShuffle(s, 3, v, 3, 31, 0x0000ffff);
  else
    v = pascalineEmulatorShuffle(s, 3, v, 20, 31, 0xffff0000);
  pascalineEmulatorWarpSync(s, ~0u);
  output<uint32_t>(s)[s->tid[0]] = v;
}

TEST(SchedulerBlock, MasksKeepLanesApart) {
  DeviceArray<uint32_t> got(32);
  uint32_t *pointer = got.data();
  EXPECT_EQ(launch(halves, shape(1, 32), &pointer).message, "");
  for (uint32_t t = 0; t < 32; ++t)
    EXPECT_EQ(got[t], t < 16 ? 3u : 20u);
}

// Interleaved, so that both groups are open at the same time.
void evenAndOdd(ThreadState *s) {
  bool odd = s->laneId % 2;
  uint32_t mask = odd ? 0xaaaaaaaa : 0x55555555;
  output<uint32_t>(s)[s->tid[0]] =
      pascalineEmulatorShuffle(s, 3, s->laneId, odd ? 7 : 4, 31, mask) +
      100 * pascalineEmulatorVote(s, 3, 1, mask);
}

TEST(SchedulerBlock, MasksKeepInterleavedLanesApart) {
  DeviceArray<uint32_t> got(64);
  uint32_t *pointer = got.data();
  EXPECT_EQ(launch(evenAndOdd, shape(1, 64), &pointer).message, "");
  for (uint32_t t = 0; t < 64; ++t)
    EXPECT_EQ(got[t], t % 2 ? 7 + 100 * 0xaaaaaaaa : 4 + 100 * 0x55555555);
}

// The forms without .sync mean the lanes on the same branch: the low half
// shuffles once more than the high half, and they meet again after it.
void diverged(ThreadState *s) {
  uint32_t v = s->laneId;
  if (s->laneId < 16) {
    s->line = 10;
    v += uint32_t(pascalineEmulatorShuffle(s, 1 | kWithoutSync, v, 8, 31, ~0u));
  }
  s->line = 20;
  v += uint32_t(pascalineEmulatorShuffle(s, 3 | kWithoutSync, v, 0, 31, ~0u));
  output<uint32_t>(s)[s->tid[0]] = v;
}

TEST(SchedulerBlock, FormsWithoutSyncFollowTheBranch) {
  DeviceArray<uint32_t> got(32);
  uint32_t *pointer = got.data();
  EXPECT_EQ(launch(diverged, shape(1, 32), &pointer).message, "");
  for (uint32_t t = 0; t < 32; ++t) {
    uint32_t v = t < 8 ? t + t + 8 : t; // lanes 16..23 took no part
    EXPECT_EQ(got[t] - 8, v) << t;
  }
}

void votes(ThreadState *s) {
  uint32_t lane = s->laneId;
  uint32_t *out = output<uint32_t>(s) + s->tid[0] * 7;
  out[0] = pascalineEmulatorVote(s, 0, lane < 40, ~0u);
  out[1] = pascalineEmulatorVote(s, 0, lane != 9, ~0u);
  out[2] = pascalineEmulatorVote(s, 1, lane == 9, ~0u);
  out[3] = pascalineEmulatorVote(s, 1, 0, ~0u);
  out[4] = pascalineEmulatorVote(s, 2, 0, ~0u);
  out[5] = pascalineEmulatorVote(s, 2, lane == 9, ~0u);
  out[6] = pascalineEmulatorVote(s, 3, lane % 3 == 0, ~0u);
}

TEST(SchedulerBlock, VotesFollowTheIsa) {
  DeviceArray<uint32_t> got(32 * 7);
  uint32_t *pointer = got.data();
  EXPECT_EQ(launch(votes, shape(1, 32), &pointer).message, "");
  const uint32_t expected[7] = {1, 0, 1, 0, 1, 0, 0x49249249};
  for (uint32_t i = 0; i < 32 * 7; ++i)
    ASSERT_EQ(got[i], expected[i % 7]) << i;
}

// Lanes that have exited take no part.
void voteOfTheRest(ThreadState *s) {
  if (s->laneId >= 20)
    return;
  output<uint32_t>(s)[s->tid[0]] = pascalineEmulatorVote(s, 3, 1, ~0u);
}

TEST(SchedulerBlock, ExitedLanesDoNotVote) {
  DeviceArray<uint32_t> got(32);
  uint32_t *pointer = got.data();
  EXPECT_EQ(launch(voteOfTheRest, shape(1, 32), &pointer).message, "");
  for (uint32_t t = 0; t < 20; ++t)
    EXPECT_EQ(got[t], 0xfffffu);
}

} // namespace
} // namespace pascaline::emulator
