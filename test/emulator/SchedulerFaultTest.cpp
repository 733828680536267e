// What goes wrong in a kernel is a failed launch with a sentence, and the next
// launch works.
#include "SchedulerTest.h"

#include <csignal>

namespace pascaline::emulator {
namespace {

void good(ThreadState *s) {
  pascalineEmulatorBarrier(s, 0, 0);
  pascalineEmulatorVote(s, 0, 1, ~0u);
  output<uint32_t>(s)[s->ctaid[0] * s->ntid[0] + s->tid[0]] = 7;
}

void expectStillWorks() {
  DeviceArray<uint32_t> got(40 * 100);
  uint32_t *pointer = got.data();
  EXPECT_EQ(launch(good, shape(40, 100), &pointer).message, "");
  for (size_t i = 0; i < got.count; ++i)
    ASSERT_EQ(got[i], 7u);
}

void wildStore(ThreadState *s) {
  pascalineEmulatorBarrier(s, 0, 0);
  if (s->tid[0] == 37)
    *reinterpret_cast<volatile uint32_t *>(output<char>(s) + 1024) = 1;
  pascalineEmulatorBarrier(s, 0, 0);
}

TEST(SchedulerFault, AWildStoreNamesThreadAndPlace) {
  DeviceArray<char> array(1000);
  char *pointer = array.data();
  for (int i = 0; i < 20; ++i) {
    LaunchFailure failure = launch(wildStore, shape(1, 64), &pointer);
    EXPECT_EQ(failure.kind, FailureKind::IllegalAddress);
    EXPECT_NE(failure.message.find("kernel k, block (0,0,0), thread (37,0,0): "
                                   "access to 0x"),
              std::string::npos)
        << failure.message;
    EXPECT_NE(failure.message.find(
                  "24 bytes past the end of an allocation of 1000 bytes"),
              std::string::npos)
        << failure.message;
  }
  expectStillWorks();
}

void sharedOverrun(ThreadState *s) {
  reinterpret_cast<volatile char *>(s->sharedBase)[4096] = 1;
}

TEST(SchedulerFault, SharedMemoryEndsWhereTheLaunchSaid) {
  EXPECT_EQ(launch(sharedOverrun, shape(1, 1, 8192), nullptr, false).kind,
            FailureKind::None);
  LaunchFailure failure =
      launch(sharedOverrun, shape(1, 1, 4096), nullptr, false);
  EXPECT_EQ(failure.kind, FailureKind::IllegalAddress);
  EXPECT_NE(failure.message.find("outside the block's shared memory"),
            std::string::npos);
  expectStillWorks();
}

void illegalInstruction(ThreadState *) { __builtin_trap(); }

TEST(SchedulerFault, AnIllegalInstruction) {
  EXPECT_EQ(launch(illegalInstruction, shape(5, 3), nullptr, false).kind,
            FailureKind::IllegalInstruction);
  expectStillWorks();
}

void overflowStack(ThreadState *s) {
  volatile char frame[2048];
  frame[0] = 1;
  if (s->tid[0] != 1000)
    overflowStack(s);
  frame[1] = frame[0];
}

TEST(SchedulerFault, AnEndlessRecursion) {
  for (bool switches : {false, true})
    EXPECT_EQ(launch(overflowStack, shape(1, 32), nullptr, switches).kind,
              FailureKind::IllegalAddress);
  expectStillWorks();
}

void trap(ThreadState *s) {
  s->line = 9;
  if (s->tid[0] == 3)
    pascalineEmulatorTrap(s);
}

TEST(SchedulerFault, Trap) {
  for (bool switches : {false, true}) {
    LaunchFailure failure = launch(trap, shape(2, 32), nullptr, switches);
    EXPECT_EQ(failure.kind, FailureKind::LaunchFailed);
    EXPECT_NE(failure.message.find("thread (3,0,0): line 9: executed trap"),
              std::string::npos);
  }
  expectStillWorks();
}

void differentBarriers(ThreadState *s) {
  s->line = 20 + s->tid[0] % 2;
  pascalineEmulatorBarrier(s, s->tid[0] % 2, 0);
}

TEST(SchedulerFault, DifferentBarriersAreADeadlock) {
  LaunchFailure failure = launch(differentBarriers, shape(3, 64), nullptr);
  EXPECT_EQ(failure.kind, FailureKind::LaunchFailed);
  EXPECT_NE(
      failure.message.find(
          "deadlock, 32 of 64 threads wait at barrier 0, one is (0,0,0) at "
          "line 20; 32 of 64 threads wait at barrier 1, one is (1,0,0) "
          "at line 21"),
      std::string::npos)
      << failure.message;
  expectStillWorks();
}

void missingLanes(ThreadState *s) {
  if (s->laneId < 4)
    pascalineEmulatorShuffle(s, 3, 0, 0, 31, 0xff);
  else
    pascalineEmulatorBarrier(s, 0, 0);
}

TEST(SchedulerFault, AShuffleWithoutItsLanesIsADeadlock) {
  LaunchFailure failure = launch(missingLanes, shape(1, 32), nullptr);
  EXPECT_EQ(failure.kind, FailureKind::LaunchFailed);
  EXPECT_NE(
      failure.message.find("4 of 32 threads wait at a shuffle of lanes 0xff"),
      std::string::npos)
      << failure.message;
  expectStillWorks();
}

void foreignMask(ThreadState *s) { pascalineEmulatorVote(s, 0, 1, 0xf0); }
void badId(ThreadState *s) {
  s->line = 5;
  pascalineEmulatorBarrier(s, 16, 0);
}
void badCount(ThreadState *s) { pascalineEmulatorBarrier(s, 0, 33); }
void counts(ThreadState *s) {
  pascalineEmulatorBarrier(s, 0, s->tid[0] ? 64 : 32);
}

TEST(SchedulerFault, MisuseOfBarriersAndMasks) {
  struct {
    ThreadFunction function;
    const char *sentence;
  } cases[] = {
      {foreignMask, "whose mask 0xf0 leaves out its own lane 0"},
      {badId, "line 5: barrier 16 is not in 0..15"},
      {badCount, "barrier 0 for 33 threads, which is no multiple of 32"},
      {counts, "barrier 0 for 64 threads, where others wait for 32"},
  };
  for (auto &c : cases) {
    LaunchFailure failure = launch(c.function, shape(1, 64), nullptr);
    EXPECT_EQ(failure.kind, FailureKind::LaunchFailed);
    EXPECT_NE(failure.message.find(c.sentence), std::string::npos)
        << failure.message;
    expectStillWorks();
  }
}

// One block spins for ever, alone or where others wait for it.
void endless(ThreadState *s) {
  volatile uint32_t *word = output<uint32_t>(s);
  if (s->ctaid[0] == 1 && s->tid[0] == 1)
    while (!*word)
      ;
  if (s->ntid[0] > 2)
    pascalineEmulatorBarrier(s, 0, 0);
}

TEST(SchedulerFault, AnEndlessKernelIsStopped) {
  DeviceArray<uint32_t> array(1);
  uint32_t *pointer = array.data();
  LaunchFailure failure = launch(endless, shape(3, 64), &pointer);
  EXPECT_EQ(failure.kind, FailureKind::Timeout);
  EXPECT_NE(failure.message.find("kernel k: not done after "),
            std::string::npos)
      << failure.message;
  EXPECT_EQ(launch(endless, shape(200, 2), &pointer, false).kind,
            FailureKind::Timeout);
  expectStillWorks();
}

// Faults outside kernels stay the application's: they end it, or reach the
// handler that it had installed.
TEST(SchedulerFaultDeathTest, OtherFaultsAreNotOurs) {
  expectStillWorks(); // the handlers are in place
  EXPECT_EXIT(
      *reinterpret_cast<volatile int *>(DeviceMemory::get().windowBase()) = 1,
      testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(raise(SIGFPE), testing::KilledBySignal(SIGFPE), "");
}

} // namespace
} // namespace pascaline::emulator
