// Two threads with a session each over one model, on the emulator: the same
// bits as alone. Build with PASCALINE_SANITIZE=thread to see that nothing is
// shared without order, the emulator's fibers included.
#include "pascaline/pascaline.h"
#include "test/runtime/Samples.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

using namespace pascaline::testing;

namespace {

constexpr uint32_t kCount = 1000;
constexpr int kRuns = 200;

// Like AddSample's, by way of the neighbour: each thread adds for the one whose
// number differs in the last bit, through shared memory and a barrier.
const char *const neighbourPtx = R"(.version 6.0
.target sm_61
.address_size 64

.visible .entry add(
	.param .u64 p0,
	.param .u64 p1,
	.param .u64 p2,
	.param .u32 p3
)
.maxntid 128, 1, 1
{
	.shared .align 4 .b8 sums[512];
	.reg .pred %p<3>;
	.reg .f32 %f<5>;
	.reg .b32 %r<14>;
	.reg .b64 %rd<10>;

	ld.param.u64 %rd1, [p0];
	ld.param.u64 %rd2, [p1];
	ld.param.u64 %rd3, [p2];
	ld.param.u32 %r1, [p3];
	mov.u32 %r2, %ctaid.x;
	mov.u32 %r3, %ntid.x;
	mov.u32 %r4, %tid.x;
	mad.lo.s32 %r5, %r2, %r3, %r4;
	xor.b32 %r6, %r5, 1;
	xor.b32 %r7, %r4, 1;
	mov.u32 %r8, sums;
	shl.b32 %r9, %r7, 2;
	add.s32 %r10, %r8, %r9;
	shl.b32 %r11, %r4, 2;
	add.s32 %r12, %r8, %r11;
	mov.f32 %f3, 0f00000000;
	setp.lt.u32 %p1, %r6, %r1;
	mul.wide.u32 %rd4, %r6, 4;
	add.s64 %rd5, %rd1, %rd4;
	add.s64 %rd6, %rd2, %rd4;
	@%p1 ld.global.f32 %f1, [%rd5];
	@%p1 ld.global.f32 %f2, [%rd6];
	@%p1 add.f32 %f3, %f1, %f2;
	st.shared.f32 [%r10], %f3;
	bar.sync 0;
	ld.shared.f32 %f4, [%r12];
	setp.lt.u32 %p2, %r5, %r1;
	mul.wide.u32 %rd7, %r5, 4;
	add.s64 %rd8, %rd3, %rd7;
	@%p2 st.global.f32 [%rd8], %f4;
	ret;
}
)";

struct Threads : ::testing::TestWithParam<bool> {
  Threads() {
    if (GetParam())
      sample.contents.ptx = neighbourPtx;
    bytes = sample.bytes();
    EXPECT_EQ(pascaline_device_open("emulator", nullptr, &device), PASCALINE_OK)
        << pascaline_last_error();
    EXPECT_EQ(pascaline_model_open_bytes(bytes.data(), bytes.size(), "add.pasc",
                                         device, &model),
              PASCALINE_OK)
        << pascaline_last_error();
  }
  ~Threads() override {
    pascaline_model_close(model);
    pascaline_device_close(device);
  }

  // The outputs of `runs` runs, whose inputs differ from run to run.
  std::vector<std::vector<float>> results(int thread, int runs) {
    std::vector<std::vector<float>> all;
    pascaline_session *session;
    EXPECT_EQ(pascaline_session_open(model, &session), PASCALINE_OK)
        << pascaline_last_error();
    std::vector<float> a(kCount), b(kCount), y(kCount), constant(kCount);
    uint64_t size = kCount * sizeof(float);
    pascaline_buffer in[] = {{a.data(), size, PASCALINE_HOST},
                             {b.data(), size, PASCALINE_HOST}};
    pascaline_buffer out[] = {{y.data(), size, PASCALINE_HOST},
                              {constant.data(), size, PASCALINE_HOST}};
    for (int round = 0; round < runs; ++round) {
      for (uint32_t i = 0; i < kCount; ++i) {
        a[i] = float(i + 1) / float(round + 3);
        b[i] = float(thread) / float(i + 7);
      }
      double total;
      EXPECT_EQ(round % 3 ? pascaline_session_run(session, in, 2, out, 2)
                          : pascaline_session_run_timed(session, in, 2, out, 2,
                                                        &total, nullptr, 0),
                PASCALINE_OK)
          << pascaline_last_error();
      all.push_back(y);
    }
    pascaline_session_close(session);
    return all;
  }

  AddSample sample{kCount};
  std::string bytes;
  pascaline_device *device = nullptr;
  pascaline_model *model = nullptr;
};

TEST_P(Threads, TwoSessionsOfOneModelGiveTheBitsTheyGiveAlone) {
  std::vector<std::vector<float>> alone[2], together[2];
  for (int i = 0; i < 2; ++i)
    alone[i] = results(i, kRuns);
  EXPECT_NE(alone[0][0], alone[0][1]);
  EXPECT_EQ(alone[1][4][6],
            (7.0f / 7 + 1.0f / 13) + 6); // a + b, then w, rounded each
  std::thread other([&] { together[1] = results(1, kRuns); });
  together[0] = results(0, kRuns);
  other.join();
  for (int i = 0; i < 2; ++i)
    for (int round = 0; round < kRuns; ++round)
      ASSERT_EQ(memcmp(alone[i][round].data(), together[i][round].data(),
                       kCount * sizeof(float)),
                0)
          << "thread " << i << ", run " << round;
}

INSTANTIATE_TEST_SUITE_P(WithoutAndWithBarriers, Threads, ::testing::Bool());

} // namespace
