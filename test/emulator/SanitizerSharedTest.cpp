// Shared memory: bounds, undefined reads, races, and barriers.
#include "SanitizerTest.h"

namespace {

constexpr CUresult kIllegal = CUDA_ERROR_ILLEGAL_ADDRESS;
constexpr CUresult kMisaligned = CUDA_ERROR_MISALIGNED_ADDRESS;
constexpr CUresult kFailed = CUDA_ERROR_LAUNCH_FAILED;

constexpr char kWords[] = ".shared .align 16 .b8 s[1024];";

// %r1 = s + 4 * tid, written.
#define OWN "mov.u32 %r2, s;\nmad.lo.u32 %r1, %r0, 4, %r2;\n"
#define WRITE_OWN OWN "st.shared.u32 [%r1], %r0; //B\n"
#define NOT_FIRST "setp.eq.u32 %p1, %r0, 0;\n@%p1 bra END;\n"

const Fault kFaults[] = {
    {{"PastTheEnd", "st.shared.u32 [s+64], %r0; //A\n",
      ".shared .align 4 .b8 s[64];"},
     kIllegal,
     {"line @A writes 4 bytes outside the block's shared memory, at 0x40"}},
    {{"BeforeTheStart", "mov.u32 %r1, s;\nst.shared.u32 [%r1+-4], %r0; //A\n",
      kWords},
     kIllegal,
     {"line @A writes 4 bytes outside the block's shared memory"}},
    {{"Misaligned", "st.shared.u64 [s+4], %rd0; //A\n", kWords},
     kMisaligned,
     {"line @A writes 8 bytes at a misaligned offset of shared memory"}},
    {{"NeverWritten", "ld.shared.u32 %r1, [s+8]; //A\n", kWords},
     kFailed,
     {"line @A reads 4 bytes of shared memory that no thread", "at 0x8"}},
    {{"NeverWrittenGeneric",
      "mov.u64 %rd1, s;\ncvta.shared.u64 %rd1, %rd1;\n"
      "ld.u32 %r1, [%rd1]; //A\n",
      kWords},
     kFailed,
     {"line @A reads 4 bytes of shared memory"}},
    {{"WrittenByAnotherBlockOnly",
      "setp.ne.u32 %p1, %r31, 0;\n@%p1 bra READ;\nst.shared.u32 [s], %r0;\n"
      "READ:\nld.shared.u32 %r1, [s]; //A\n",
      kWords, 8},
     kFailed,
     {"line @A reads 4 bytes of shared memory"}},
    {{"WriteWrite", "st.shared.u32 [s], %r0; //A\n", kWords, 1, 64},
     kFailed,
     {"thread (1,0,0): race in shared memory at 0x0: line @A writes 4 bytes, "
      "which thread (0,0,0) has written at line @A"}},
    {{"WriteRead",
      WRITE_OWN NOT_FIRST "ld.shared.u32 %r3, [%r1+-4]; //A\nEND:\n", kWords, 1,
      64},
     kFailed,
     {"thread (1,0,0): race", "line @A reads 4 bytes, which thread (0,0,0) has "
                              "written at line @B, with no barrier between"}},
    {{"ReadWrite",
      OWN "st.shared.u32 [%r1], %r0;\nbar.sync 0;\n"
          "ld.shared.u32 %r3, [s+20]; //B\nsetp.ne.u32 %p1, %r0, 5;\n"
          "@%p1 bra END;\nst.shared.u32 [s+20], %r3; //A\nEND:\n",
      kWords, 1, 64},
     kFailed,
     {"thread (5,0,0): race", "line @A writes 4 bytes, which thread (",
      "has read at line @B"}},
    {{"ReadWriteOfAnotherWarp",
      OWN "st.shared.u32 [%r1], %r0;\nbar.sync 0;\n"
          "ld.shared.u32 %r3, [s+20]; //B\nbar.warp.sync -1;\n"
          "setp.ne.u32 %p1, %r0, 69;\n@%p1 bra END;\n"
          "st.shared.u32 [s+20], %r3; //A\nEND:\n",
      kWords, 1, 96},
     kFailed,
     {"thread (69,0,0): race", "has read at line @B"}},
    // The readers that come first are ordered before the writer.
    {{"ReadWriteOrderedAfterOneWarp",
      OWN "st.shared.u32 [%r1], %r0;\nbar.sync 0;\n"
          "ld.shared.u32 %r3, [s+20]; //B\nshr.u32 %r4, %r0, 5;\n"
          "setp.eq.u32 %p1, %r4, 1;\n@%p1 bra END;\nbar.sync 1, 64;\n"
          "setp.ne.u32 %p1, %r0, 69;\n@%p1 bra END;\n"
          "st.shared.u32 [s+20], %r3; //A\nEND:\n",
      kWords, 1, 96},
     kFailed,
     {"thread (69,0,0): race", "line @A writes", "has read at line @B"}},
    {{"WarpBarrierAcrossWarps",
      WRITE_OWN "bar.warp.sync -1;\nsetp.ne.u32 %p1, %r0, 32;\n@%p1 bra END;\n"
                "ld.shared.u32 %r3, [s]; //A\nEND:\n",
      kWords, 1, 64},
     kFailed,
     {"thread (32,0,0): race", "line @A", "thread (0,0,0)", "line @B"}},
    {{"BarrierOfOtherWarps",
      "setp.lt.u32 %p1, %r0, 64;\n@%p1 bra WRITE;\n"
      "bar.sync 2, 32;\nld.shared.u32 %r3, [s]; //A\nbra "
      "END;\nWRITE:\n" WRITE_OWN "bar.sync 1, 64;\nEND:\n",
      kWords, 1, 96},
     kFailed,
     {"race in shared memory at 0x0", "line @A", "thread (0,0,0)", "line @B"}},
    {{"SameByte", "st.shared.u8 [s+3], %r0; //A\n", kWords, 1, 2},
     kFailed,
     {"race in shared memory at 0x3: line @A writes 1 bytes"}},
    {{"AtomicAndPlain",
      "setp.ne.u32 %p1, %r0, 0;\n@%p1 bra ADD;\nst.shared.u32 [s], %r0; //B\n"
      "ADD:\nred.shared.add.u32 [s], 1; //A\n",
      kWords, 1, 32},
     kFailed,
     {"thread (1,0,0): race", "line @A updates 4 bytes, which thread (0,0,0)"}},
    {{"DivergentBarrier",
      "setp.lt.u32 %p1, %r0, 16;\n@%p1 bra LOW;\nbar.sync 0; //A\nbra END;\n"
      "LOW:\nbar.sync 0; //B\nEND:\n",
      "", 1, 32},
     kFailed,
     {"line @A waits at barrier 0, where other lanes of the warp wait at line "
      "@B"}},
    {{"BarrierThatNotAllReach",
      "setp.lt.u32 %p1, %r0, 32;\n@%p1 bra OTHER;\nbar.sync 0; //A\nbra END;\n"
      "OTHER:\nbar.sync 1; //B\nEND:\n",
      "", 1, 64},
     kFailed,
     {"deadlock, 32 of 64 threads wait at barrier 0, one is (32,0,0) at line "
      "@A; 32 of 64 threads wait at barrier 1, one is (0,0,0) at line @B"}},
    {{"BarrierWithAWrongCount",
      "setp.lt.u32 %p1, %r0, 32;\n@%p1 bra OTHER;\nbar.sync 1, 64; //A\nbra "
      "END;\n"
      "OTHER:\nbar.sync 1, 32;\nbar.sync 1, 96;\nEND:\n",
      "", 1, 96},
     kFailed,
     {"line @A: barrier 1 for 64 threads, where others wait for 96"}},
    {{"ShuffleThatNotAllReach",
      "setp.lt.u32 %p1, %r0, 4;\n@%p1 bra END;\n"
      "shfl.sync.idx.b32 %r1, %r0, 0, 31, -1; //A\nbra OUT;\n"
      "END:\nbar.sync 0; //B\nOUT:\n",
      "", 1, 32},
     kFailed,
     {"deadlock", "at line @B",
      "a shuffle of lanes 0xffffffff, one is (4,0,0) "
      "at line @A"}},
    // What was read since the barrier is looked at in the kernel itself. The
    // last to reach a barrier goes on first.
    {{"HalfOfAWideReadIsWrittenSince",
      OWN "st.shared.u32 [%r1], %r0;\nbar.sync 0;\n"
          "setp.ne.u32 %p1, %r0, 63;\n@%p1 bra READ;\n"
          "st.shared.u32 [s+4], %r0; //B\nld.shared.u32 %r3, [s];\n"
          "READ:\nld.shared.v2.u32 {%r3, %r4}, [s]; //A\n",
      kWords, 1, 64},
     kFailed,
     {"thread (0,0,0): race",
      "line @A reads 8 bytes, which thread (63,0,0) has "
      "written at line @B"}},
    {{"WrittenAfterTheWritersOwnRead",
      OWN "st.shared.u32 [%r1], %r0;\nbar.sync 0;\n"
          "setp.ne.u32 %p1, %r0, 63;\n@%p1 bra READ;\n"
          "ld.shared.u32 %r3, [s];\nst.shared.u32 [s], %r3; //B\n"
          "READ:\nld.shared.u32 %r3, [s]; //A\n",
      kWords, 1, 64},
     kFailed,
     {"thread (0,0,0): race",
      "line @A reads 4 bytes, which thread (63,0,0) has "
      "written at line @B"}},
    // What one check stands for is reported each by its own line.
    {{"SecondOfAGroupIsOutside",
      "mov.u32 %r1, s;\nst.shared.u32 [%r1], %r0;\n"
      "st.shared.u32 [%r1+1024], %r0; //A\n",
      kWords},
     kIllegal,
     {"line @A writes 4 bytes outside the block's shared memory, at 0x400 of "
      "its 1024 bytes"}},
    {{"ThirdOfAGroupIsUndefined",
      "mov.u32 %r1, s;\nst.shared.v2.u32 [%r1], {%r0, %r0};\nbar.sync 0;\n"
      "ld.shared.u32 %r2, [%r1];\nld.shared.u32 %r3, [%r1+4];\n"
      "ld.shared.u32 %r4, [%r1+8]; //A\n",
      kWords},
     kFailed,
     {"line @A reads 4 bytes of shared memory", "at 0x8"}},
    {{"MisalignedVectorLoad",
      "mov.u32 %r1, s;\nld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [%r1+8]; //A\n",
      kWords},
     kMisaligned,
     {"line @A reads 16 bytes at a misaligned offset of shared memory"}},
    {{"DynamicPastTheEnd", "st.shared.u32 [d+4], %r0; //A\n",
      ".extern .shared .align 4 .b8 d[];\n.shared .align 4 .b8 s[64];"},
     kIllegal,
     {"line @A writes 4 bytes outside the block's shared memory"}},
};

class SharedFault : public FaultTest {};
TEST_P(SharedFault, IsFound) { expectFound(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Shared, SharedFault, testing::ValuesIn(kFaults),
                         nameOf);

const Kernel kCorrect[] = {
    {"BarrierBetween",
     WRITE_OWN "bar.sync 0;\nxor.b32 %r4, %r0, 63;\n"
               "mad.lo.u32 %r4, %r4, 4, %r2;\nld.shared.u32 %r3, [%r4];\n"
               "bar.sync 0;\nst.shared.u32 [%r1], %r3;\n",
     kWords, 5, 64},
    {"WarpBarrierWithinAWarp",
     WRITE_OWN "bar.warp.sync -1;\nxor.b32 %r4, %r0, 7;\n"
               "mad.lo.u32 %r4, %r4, 4, %r2;\nld.shared.u32 %r3, [%r4];\n",
     kWords, 2, 128},
    {"ShuffleOrdersTheWarp",
     WRITE_OWN "shfl.sync.bfly.b32 %r5, %r0, 1, 31, -1;\nxor.b32 %r4, %r0, 1;\n"
               "mad.lo.u32 %r4, %r4, 4, %r2;\nld.shared.u32 %r3, [%r4];\n",
     kWords, 2, 128},
    {"ProducerAndConsumer",
     "setp.lt.u32 %p1, %r0, 32;\n@%p1 bra WRITE;\n"
     "bar.sync 1, 64;\nmov.u32 %r2, s;\nmad.lo.u32 %r1, %r0, 4, %r2;\n"
     "ld.shared.u32 %r3, [%r1+-128];\nbra END;\nWRITE:\n" WRITE_OWN
     "bar.arrive 1, 64;\nEND:\n",
     kWords, 2, 64},
    {"NeighbouringBytes",
     "mov.u32 %r2, s;\nadd.u32 %r1, %r0, %r2;\nst.shared.u8 [%r1], %r0;\n"
     "bar.sync 0;\nld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [s+16];\n",
     kWords, 2, 64},
    {"AtomicsBetweenBarriers",
     WRITE_OWN "bar.sync 0;\nred.shared.add.u32 [s+8], 1;\n"
               "atom.shared.max.u32 %r3, [s+8], 5;\nbar.sync 0;\n"
               "ld.shared.u32 %r3, [s+8];\n",
     kWords, 2, 64},
    {"FlagBehindAFence",
     "setp.ne.u32 %p1, %r0, 0;\n@%p1 bra NEXT;\nst.shared.u32 [s], %r0;\n"
     "membar.cta;\nst.volatile.shared.u32 [s+4], 1;\nNEXT:\n"
     "ld.volatile.shared.u32 %r1, [s+4];\nmembar.cta;\n"
     "ld.shared.u32 %r2, [s];\n",
     kWords, 2, 64},
    {"EarlyExitBeforeABarrier",
     "setp.ge.u32 %p1, %r0, 40;\n@%p1 ret;\nbar.sync 0;\n", "", 2, 64},
    // One reader of many writes behind the next barrier.
    {"ReadByAllThenWritten",
     WRITE_OWN "bar.sync 0;\nld.shared.u32 %r3, [s+20];\nbar.sync 0;\n"
               "setp.ne.u32 %p1, %r0, 3;\n@%p1 bra END;\n"
               "st.shared.u32 [s+20], %r3;\nEND:\nbar.sync 0;\n"
               "ld.shared.u32 %r3, [s+20];\n",
     kWords, 3, 64},
    // A thread reads and writes what is its own, over and over.
    {"OwnWordWithoutBarriers",
     WRITE_OWN "ld.shared.u32 %r3, [%r1];\nst.shared.u32 [%r1], %r3;\n"
               "ld.shared.u32 %r3, [%r1];\nbar.sync 0;\n"
               "ld.shared.u32 %r3, [%r1];\nst.shared.u32 [%r1], %r3;\n",
     kWords, 2, 64},
    {"BarrierInALoop",
     WRITE_OWN "mov.u32 %r3, 32;\nLOOP:\nbar.sync 0;\n"
               "setp.ge.u32 %p1, %r0, %r3;\n@%p1 bra SKIP;\n"
               "mad.lo.u32 %r4, %r3, 4, %r1;\nld.shared.u32 %r5, [%r4];\n"
               "ld.shared.u32 %r6, [%r1];\nadd.u32 %r6, %r6, %r5;\n"
               "st.shared.u32 [%r1], %r6;\nSKIP:\nshr.u32 %r3, %r3, 1;\n"
               "setp.ne.u32 %p2, %r3, 0;\n@%p2 bra LOOP;\n",
     kWords, 3, 64},
};

class SharedCorrect : public CorrectTest {};
TEST_P(SharedCorrect, GivesNoReport) { EXPECT_DONE(run(GetParam())); }
INSTANTIATE_TEST_SUITE_P(Shared, SharedCorrect, testing::ValuesIn(kCorrect),
                         kernelName);

} // namespace
