// Whole kernels, from PTX text to what they leave in memory.
#include "DriverTest.h"

#include <numeric>
#include <thread>

namespace {

class DriverLaunch : public DriverTest {};

constexpr char kAdd[] = R"(
.visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c,
                    .param .u32 n) {
  .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<8>; .reg .f32 %f<4>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  ld.param.u32 %r5, [n];
  setp.ge.u32 %p, %r4, %r5;
  @%p bra DONE;
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd2, [b];
  ld.param.u64 %rd3, [c];
  mul.wide.u32 %rd4, %r4, 4;
  add.s64 %rd5, %rd1, %rd4;
  add.s64 %rd6, %rd2, %rd4;
  add.s64 %rd7, %rd3, %rd4;
  ld.global.f32 %f1, [%rd5];
  ld.global.f32 %f2, [%rd6];
  add.f32 %f3, %f1, %f2;
  st.global.f32 [%rd7], %f3;
DONE:
  ret;
}
)";

TEST_F(DriverLaunch, AddsVectorsByBothFormsOfParameters) {
  unsigned n = 10000;
  std::vector<float> a(n), b(n), sum(n);
  for (unsigned i = 0; i < n; ++i) {
    a[i] = i * 0.5f;
    b[i] = 3.0f - i;
    sum[i] = a[i] + b[i];
  }
  CUdeviceptr pa = upload(a), pb = upload(b), pc = allocate(n * 4);
  CUfunction add = function(load(kAdd), "add");
  EXPECT_DONE(launch(add, 79, 128, {&pa, &pb, &pc, &n}));
  EXPECT_EQ(download<float>(pc, n), sum);

  EXPECT_DONE(cuMemsetD8_v2(pc, 0, n * 4));
  struct {
    CUdeviceptr a, b, c;
    unsigned n;
  } packed = {pa, pb, pc, n};
  size_t size = 28;
  void *extra[] = {reinterpret_cast<void *>(1), &packed,
                   reinterpret_cast<void *>(2), &size, nullptr};
  auto launchExtra = [&](void **parameters) {
    return cuLaunchKernel(add, 79, 1, 1, 128, 1, 1, 0, nullptr, parameters,
                          extra);
  };
  EXPECT_DONE(launchExtra(nullptr));
  EXPECT_EQ(download<float>(pc, n), sum);
  void *both[] = {&pa, &pb, &pc, &n};
  EXPECT_EQ(launchExtra(both), CUDA_ERROR_INVALID_VALUE);
  size = 27;
  EXPECT_EQ(launchExtra(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ERROR_HAS("extra gives 27 bytes of parameters, it takes 28");
  EXPECT_EQ(launch(add, 1, 1, {&pa, &pb, &pc, nullptr}),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverLaunch, ChecksTheLimitsOfTheDevice) {
  CUfunction k = kernel("", ".extern .shared .align 4 .b8 s[];\n");
  CUdeviceptr pointer = allocate(4);
  void *parameters[] = {&pointer};
  auto launchAs = [&](unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                      unsigned by, unsigned bz, unsigned shared) {
    return cuLaunchKernel(k, gx, gy, gz, bx, by, bz, shared, nullptr,
                          parameters, nullptr);
  };
  EXPECT_DONE(launchAs(1, 1, 1, 1024, 1, 1, 49152));
  EXPECT_DONE(launchAs(1, 2, 3, 4, 4, 64, 0));
  EXPECT_EQ(launchAs(0, 1, 1, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launchAs(1, 65536, 1, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launchAs(0x80000000u, 1, 1, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launchAs(1, 1, 1, 1, 0, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launchAs(1, 1, 1, 1, 1, 65, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launchAs(1, 1, 1, 33, 32, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ERROR_HAS("a block of 1056 threads, the device runs 1024 at most");
  EXPECT_EQ(launchAs(1, 1, 1, 1, 1, 1, 49153), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launchAs(1, 1, 1, 1, 1, 1, ~0u), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(nullptr, 1, 1, {}), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(launch(k, 1, 1, {&pointer}, 0, reinterpret_cast<CUstream>(&k)),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_DONE(cuCtxSynchronize()); // none of these is sticky
}

// 256 threads sum 256 numbers in shared memory; a block each.
TEST_F(DriverLaunch, ReducesInSharedMemory) {
  std::vector<int> values(256 * 40);
  std::iota(values.begin(), values.end(), -77);
  CUdeviceptr pointer = upload(values);
  CUfunction k = kernel(R"(
  mov.u32 %r1, %ctaid.x;
  shl.b32 %r2, %r1, 8;
  add.u32 %r2, %r2, %r0;
  mul.wide.u32 %rd1, %r2, 4;
  add.u64 %rd2, %rd0, %rd1;
  ld.global.u32 %r3, [%rd2];
  mov.u32 %r4, s;
  shl.b32 %r5, %r0, 2;
  add.u32 %r4, %r4, %r5;
  st.shared.u32 [%r4], %r3;
  bar.sync 0;
  mov.u32 %r6, 128;
LOOP:
  setp.ge.u32 %p1, %r0, %r6;
  @%p1 bra SKIP;
  shl.b32 %r7, %r6, 2;
  add.u32 %r8, %r4, %r7;
  ld.shared.u32 %r9, [%r8];
  ld.shared.u32 %r10, [%r4];
  add.u32 %r9, %r9, %r10;
  st.shared.u32 [%r4], %r9;
SKIP:
  bar.sync 0;
  shr.u32 %r6, %r6, 1;
  setp.ne.u32 %p2, %r6, 0;
  @%p2 bra LOOP;
  setp.ne.u32 %p3, %r0, 0;
  @%p3 bra END;
  ld.shared.u32 %r11, [s];
  st.global.u32 [%rd2], %r11;
END:
)",
                        ".shared .align 4 .b8 s[1024];\n");
  EXPECT_DONE(launch(k, 40, 256, {&pointer}));
  std::vector<int> got = download<int>(pointer, values.size());
  for (int b = 0; b < 40; ++b)
    EXPECT_EQ(got[b * 256], std::accumulate(values.begin() + b * 256,
                                            values.begin() + b * 256 + 256, 0));
}

// Warp sums by shuffles, both forms, then one atomic a warp.
TEST_F(DriverLaunch, ReducesByShufflesAndAtomics) {
  for (const char *shuffle : {"shfl.sync.down.b32 %r2, %r1, %r3, 31, -1;\n",
                              "shfl.down.b32 %r2, %r1, %r3, 31;\n"}) {
    CUdeviceptr pointer = upload(std::vector<int>(1));
    CUfunction k = kernel(std::string(R"(
  mov.u32 %r1, %r0;
  mov.u32 %r3, 16;
LOOP:
)") + shuffle + R"(
  add.u32 %r1, %r1, %r2;
  shr.u32 %r3, %r3, 1;
  setp.ne.u32 %p1, %r3, 0;
  @%p1 bra LOOP;
  and.b32 %r4, %r0, 31;
  setp.ne.u32 %p2, %r4, 0;
  @%p2 bra END;
  atom.global.add.u32 %r5, [%rd0], %r1;
END:
)");
    EXPECT_DONE(launch(k, 30, 512, {&pointer}));
    EXPECT_EQ(download<int>(pointer, 1)[0], 30 * 512 * 511 / 2);
  }
}

// Without .sync, a shuffle means the lanes on the same branch: the low half
// shuffles once more, then both meet.
TEST_F(DriverLaunch, ShufflesWithoutSyncFollowTheBranch) {
  CUdeviceptr pointer = allocate(32 * 4);
  CUfunction k = kernel(R"(
  mov.u32 %r1, %r0;
  setp.ge.u32 %p1, %r0, 16;
  @%p1 bra MEET;
  shfl.down.b32 %r2, %r1, 8, 31;
  add.u32 %r1, %r1, %r2;
MEET:
  shfl.idx.b32 %r3, %r1, 0, 31;
  add.u32 %r1, %r1, %r3;
  vote.ballot.b32 %r4, %p1;
  add.u32 %r1, %r1, %r4;
  mul.wide.u32 %rd1, %r0, 4;
  add.u64 %rd1, %rd0, %rd1;
  st.global.u32 [%rd1], %r1;
)");
  EXPECT_DONE(launch(k, 1, 32, {&pointer}));
  std::vector<unsigned> got = download<unsigned>(pointer, 32);
  for (unsigned t = 0; t < 32; ++t)
    EXPECT_EQ(got[t], 0xffff0000u + 8 + (t < 8 ? 2 * t + 8 : t)) << t;
}

TEST_F(DriverLaunch, ThreadsMayExitBeforeABarrier) {
  CUdeviceptr pointer = upload(std::vector<int>(1));
  CUfunction k = kernel("setp.ge.u32 %p1, %r0, 40;\n@%p1 ret;\n"
                        "bar.sync 0;\nred.global.add.u32 [%rd0], 1;\n");
  EXPECT_DONE(launch(k, 3, 100, {&pointer}));
  EXPECT_EQ(download<int>(pointer, 1)[0], 120);
}

TEST_F(DriverLaunch, ABarrierNobodyCanReachFailsTheLaunch) {
  CUdeviceptr pointer = allocate(4);
  CUfunction k = kernel("setp.ge.u32 %p1, %r0, 32;\n@%p1 bra OTHER;\n"
                        "bar.sync 0;\nbra END;\nOTHER:\nbar.sync 1;\nEND:\n");
  EXPECT_EQ(launch(k, 3, 64, {&pointer}), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_ERROR_HAS("deadlock, 32 of 64 threads wait at barrier 0");
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
}

TEST_F(DriverLaunch, UseAfterFreeFaults) {
  CUdeviceptr pointer = allocate(4);
  CUfunction k = kernel("st.global.u32 [%rd0], %r0;\n");
  EXPECT_DONE(launch(k, 1, 1, {&pointer}));
  EXPECT_DONE(cuMemFree_v2(pointer));
  EXPECT_EQ(launch(k, 1, 1, {&pointer}), CUDA_ERROR_ILLEGAL_ADDRESS);
}

// The host's own memory is out of reach, whatever the address.
TEST_F(DriverLaunch, HostMemoryIsOutOfReach) {
  std::vector<int> secret(16, 42);
  CUdeviceptr pointer = reinterpret_cast<CUdeviceptr>(secret.data());
  CUfunction k = kernel("st.global.u32 [%rd0], %r0;\n");
  EXPECT_EQ(launch(k, 1, 1, {&pointer}), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(secret, std::vector<int>(16, 42));
}

TEST_F(DriverLaunch, HostThreadsLaunchAtOnce) {
  CUfunction k = kernel("red.global.add.u32 [%rd0], 1;\nbar.sync 0;\n");
  CUdeviceptr pointer = upload(std::vector<int>(1));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      ASSERT_DONE(cuCtxPushCurrent_v2(context));
      for (int i = 0; i < 50; ++i)
        ASSERT_DONE(launch(k, 10, 64, {&pointer}));
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(download<int>(pointer, 1)[0], 4 * 50 * 10 * 64);
}

} // namespace
