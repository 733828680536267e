// Races between the blocks of a launch, and what orders them.
#include "SanitizerTest.h"

namespace {

constexpr CUresult kFailed = CUDA_ERROR_LAUNCH_FAILED;

// %rd1 = p + 16 * ctaid, %r30 = blocks; the counter is at p + 496.
#define PLACE                                                                  \
  "mov.u32 %r30, %nctaid.x;\nmul.wide.u32 %rd1, %r31, 16;\n"                   \
  "add.u64 %rd1, %rd1, %rd0;\n"
// The last block reads every block's word at the displacement.
#define LAST_READS(displacement)                                               \
  "atom.global.add.u32 %r2, [%rd0+496], 1;\nadd.u32 %r2, %r2, 1;\n"            \
  "setp.ne.u32 %p1, %r2, %r30;\n@%p1 bra END;\nmov.u64 %rd2, %rd0;\n"          \
  "mov.u32 %r3, 0;\nLOOP:\n"                                                   \
  "ld.global.u32 %r4, [%rd2+" displacement "]; //A\n"                          \
  "add.u64 %rd2, %rd2, 16;\nadd.u32 %r3, %r3, 1;\n"                            \
  "setp.lt.u32 %p2, %r3, %r30;\n@%p2 bra LOOP;\nEND:\n"

const Fault kFaults[] = {
    {{"WriteWrite", "st.global.u32 [%rd0], %r31; //A\n", "", 2},
     kFailed,
     {"race in device memory at 0x", "inside an allocation of 1000 bytes",
      "line @A writes 4 bytes, which block (",
      "), thread (0,0,0) has written "
      "at line @A"}},
    {{"WriteAndRead",
      PLACE "st.global.u32 [%rd1], %r31; //A\nxor.b32 %r1, %r31, 1;\n"
            "mul.wide.u32 %rd2, %r1, 16;\nadd.u64 %rd2, %rd2, %rd0;\n"
            "ld.global.u32 %r2, [%rd2]; //B\n",
      "", 16},
     kFailed,
     {"race in device memory", "line @A", "line @B"}},
    {{"ReadByAllWrittenByOne",
      "ld.global.nc.u32 %r1, [%rd0+4]; //B\nsetp.ne.u32 %p1, %r31, 7;\n"
      "@%p1 bra END;\nst.global.u32 [%rd0+4], %r1; //A\nEND:\n",
      "", 8},
     kFailed,
     {"race in device memory", "line @A", "line @B"}},
    {{"LastBlockWithoutFence",
      PLACE "st.global.u32 [%rd1], %r31; //B\n" LAST_READS("0"), "", 16},
     kFailed,
     {"line @A reads 4 bytes, which block (", "has written at line @B, with no "
                                              "fence and atomic between"}},
    {{"StoreBehindTheFence",
      PLACE "membar.gl;\nst.global.u32 [%rd1], %r31; //B\n" LAST_READS("0"), "",
      16},
     kFailed,
     {"line @A reads 4 bytes", "at line @B"}},
    {{"LastBlockWithoutBarrier",
      PLACE "mul.wide.u32 %rd3, %r0, 4;\nadd.u64 %rd3, %rd3, %rd1;\n"
            "st.global.u32 [%rd3], %r31; //B\nsetp.ne.u32 %p1, %r0, 0;\n"
            "@%p1 bra END;\nmembar.gl;\n" LAST_READS("12"),
      "", 16, 4},
     kFailed,
     {"line @A reads 4 bytes", "thread (3,0,0) has written at line @B"}},
    // Accesses of several widths in one kernel.
    {{"WideWriteNarrowRead",
      "setp.ne.u32 %p1, %r31, 3;\n@%p1 bra READ;\n"
      "st.global.v4.u32 [%rd0+32], {%r0, %r0, %r0, %r0}; //A\nREAD:\n"
      "ld.global.u32 %r1, [%rd0+40]; //B\n",
      "", 16},
     kFailed,
     {"race in device memory", "line @A", "line @B", "block (3,0,0)"}},
    {{"NarrowWriteWideRead",
      "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd0+32]; //B\n"
      "setp.ne.u32 %p1, %r31, 7;\n@%p1 bra END;\n"
      "st.global.u16 [%rd0+46], %r1; //A\nEND:\n",
      "", 16},
     kFailed,
     {"race in device memory", "line @A", "line @B", "block (7,0,0)"}},
    {{"WideWriteNarrowWrite",
      "setp.ne.u32 %p1, %r31, 3;\n@%p1 bra READ;\n"
      "st.global.v4.u32 [%rd0+32], {%r0, %r0, %r0, %r0}; //A\nREAD:\n"
      "setp.ne.u32 %p1, %r31, 9;\n@%p1 bra END;\n"
      "st.global.u8 [%rd0+47], %r0; //B\nEND:\n",
      "", 16},
     kFailed,
     {"race in device memory", "line @A", "line @B"}},
    {{"AtomicAndPlainStore",
      "setp.eq.u32 %p1, %r31, 0;\n@%p1 bra STORE;\n"
      "red.global.add.u32 [%rd0], 1; //A\nbra END;\nSTORE:\n"
      "st.global.u32 [%rd0], 0; //B\nEND:\n",
      "", 2},
     kFailed,
     {"race in device memory", "line @A", "line @B"}},
};

class GlobalFault : public FaultTest {};
TEST_P(GlobalFault, IsFound) { expectFound(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Global, GlobalFault, testing::ValuesIn(kFaults),
                         nameOf);

const Kernel kCorrect[] = {
    {"LastBlockArrives",
     PLACE "st.global.u32 [%rd1], %r31;\nmembar.gl;\n" LAST_READS("0"), "", 31},
    {"EveryThreadFences",
     PLACE "mul.wide.u32 %rd3, %r0, 4;\nadd.u64 %rd3, %rd3, %rd1;\n"
           "st.global.u32 [%rd3], %r31;\nmembar.gl;\nbar.sync 0;\n"
           "setp.ne.u32 %p1, %r0, 0;\n@%p1 bra END;\n" LAST_READS("12"),
     "", 31, 4},
    {"OneThreadFencesForAll",
     PLACE
     "mul.wide.u32 %rd3, %r0, 4;\nadd.u64 %rd3, %rd3, %rd1;\n"
     "st.global.u32 [%rd3], %r31;\nbar.sync 0;\n"
     "setp.ne.u32 %p1, %r0, 0;\n@%p1 bra END;\nmembar.gl;\n" LAST_READS("12"),
     "", 31, 4},
    // Each block waits for the one before it and adds to what that one stored.
    {"ChainOfFlags",
     "mul.wide.u32 %rd1, %r31, 8;\nadd.u64 %rd1, %rd1, %rd0;\n"
     "setp.eq.u32 %p1, %r31, 0;\n@%p1 bra FIRST;\nWAIT:\n"
     "ld.volatile.global.u32 %r1, [%rd1+-4];\nsetp.eq.u32 %p2, %r1, 0;\n"
     "@%p2 bra WAIT;\nmembar.gl;\nld.global.u32 %r2, [%rd0+480];\n"
     "add.u32 %r2, %r2, 1;\nst.global.u32 [%rd0+480], %r2;\nFIRST:\n"
     "st.global.u32 [%rd1], %r31;\nmembar.gl;\n"
     "st.volatile.global.u32 [%rd1+4], 1;\n",
     "", 40},
    {"AtomicsOnly",
     "red.global.add.u32 [%rd0], 1;\natom.global.max.u32 %r1, [%rd0], 9;\n", "",
     31, 64},
    {"NeighbouringBytes",
     "cvt.u64.u32 %rd1, %r31;\nadd.u64 %rd1, %rd1, %rd0;\n"
     "st.global.u8 [%rd1], %r0;\n",
     "", 64},
    // A unit of four words, each of another block's.
    {"NeighbouringWords",
     "mul.wide.u32 %rd1, %r31, 4;\nadd.u64 %rd1, %rd1, %rd0;\n"
     "st.global.u32 [%rd1], %r0;\nld.global.u32 %r1, [%rd1];\n"
     "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd0+496];\n",
     "", 64},
    {"ReadByAll", "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd0];\n", "", 64,
     64},
};

class GlobalCorrect : public CorrectTest {};
TEST_P(GlobalCorrect, GivesNoReport) { EXPECT_DONE(run(GetParam())); }
INSTANTIATE_TEST_SUITE_P(Global, GlobalCorrect, testing::ValuesIn(kCorrect),
                         kernelName);

class SanitizerGlobal : public SanitizerTest {};

// Launches are ordered; what an earlier one did is no race. More of them than
// a stamp can count.
TEST_F(SanitizerGlobal, LaunchesAreOrdered) {
  CUfunction k = kernel("mov.u32 %r31, %ctaid.x;\nsetp.ne.u32 %p1, %r31, 1;\n"
                        "@%p1 bra END;\nst.global.u32 [%rd0], %r0;\nEND:\n");
  CUfunction other =
      kernel("mov.u32 %r31, %ctaid.x;\nsetp.ne.u32 %p1, %r31, 0;\n"
             "@%p1 bra END;\nst.global.u32 [%rd0], %r0;\nEND:\n");
  CUdeviceptr pointer = allocate(4);
  for (int i = 0; i < 300; ++i)
    EXPECT_DONE(launch(i % 3 ? k : other, 2, 1, {&pointer}));
}

} // namespace
