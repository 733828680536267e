// Bounds, alignment and undefined device memory, in every space.
#include "SanitizerTest.h"

namespace {

constexpr CUresult kIllegal = CUDA_ERROR_ILLEGAL_ADDRESS;
constexpr CUresult kMisaligned = CUDA_ERROR_MISALIGNED_ADDRESS;
constexpr CUresult kFailed = CUDA_ERROR_LAUNCH_FAILED;

const Fault kFaults[] = {
    {{"LoadPastTheEnd", "ld.global.u32 %r1, [%rd0+1000]; //A\n"},
     kIllegal,
     {"block (0,0,0), thread (0,0,0): line @A reads 4 bytes outside live "
      "allocations",
      "0 bytes past the end of an allocation of 1000 bytes"}},
    {{"LoadOneBytePastTheEnd", "ld.global.u8 %r1, [%rd0+1000]; //A\n"},
     kIllegal,
     {"line @A reads 1 bytes outside live allocations",
      "0 bytes past the end of an allocation of 1000 bytes"}},
    {{"VectorAcrossTheEnd",
      "st.global.v4.u32 [%rd0+992], {%r0, %r0, %r0, %r0}; //A\n"},
     kIllegal,
     {"line @A writes 16 bytes outside live allocations"}},
    {{"OneThreadStoresPastTheEnd",
      "mul.wide.u32 %rd1, %r0, 4;\nadd.u64 %rd1, %rd1, %rd0;\n"
      "st.global.u32 [%rd1], %r0; //A\n",
      "", 1, 251},
     kIllegal,
     {"thread (250,0,0): line @A writes 4 bytes outside live allocations"}},
    {{"LoadBeforeTheStart", "ld.global.u32 %r1, [%rd0+-4]; //A\n"},
     kIllegal,
     {"line @A reads 4 bytes", "4 bytes before an allocation of 1000 bytes"}},
    {{"NullPointer", "mov.u64 %rd1, 0;\nld.global.u32 %r1, [%rd1]; //A\n"},
     kIllegal,
     {"line @A reads 4 bytes outside live allocations, at 0x0"}},
    {{"WildPointer",
      "mov.u64 %rd1, 0x1234567890abc0;\nst.u32 [%rd1], %r0; //A\n"},
     kIllegal,
     {"line @A writes 4 bytes outside live", "at 0x1234567890abc0"}},
    {{"MisalignedLoad", "ld.global.u32 %r1, [%rd0+2]; //A\n"},
     kMisaligned,
     {"line @A reads 4 bytes at a misaligned address"}},
    {{"MisalignedVectorStore",
      "st.global.v4.u32 [%rd0+8], {%r0, %r0, %r0, %r0}; //A\n"},
     kMisaligned,
     {"line @A writes 16 bytes at a misaligned address"}},
    {{"MisalignedAtomic", "red.global.add.u32 [%rd0+1], 1; //A\n"},
     kMisaligned,
     {"line @A updates 4 bytes at a misaligned address"}},
    {{"UndefinedLoad", "ld.global.u32 %r1, [%rd0+512]; //A\n"},
     kFailed,
     {"line @A reads 4 bytes of device memory that nobody has written"}},
    {{"PartlyUndefinedLoad",
      "st.global.u8 [%rd0+600], %r0;\nld.global.u32 %r1, [%rd0+600]; //A\n"},
     kFailed,
     {"line @A reads 4 bytes of device memory"}},
    {{"UndefinedAtomic", "red.global.add.u32 [%rd0+512], 1; //A\n"},
     kFailed,
     {"line @A updates 4 bytes of device memory"}},
    {{"LocalPastTheEnd", ".local .align 4 .b8 l[16];\nmov.u32 %r1, 16;\n"
                         "st.local.u32 [%r1], %r0; //A\n"},
     kIllegal,
     {"line @A writes 4 bytes outside the thread's local memory, at 0x10"}},
    {{"GenericLocalPastTheEnd",
      ".local .align 4 .b8 l[16];\nmov.u64 %rd1, l;\n"
      "cvta.local.u64 %rd1, %rd1;\nst.u32 [%rd1+16], %r0; //A\n"},
     kIllegal,
     {"line @A writes 4 bytes outside the thread's local memory"}},
    {{"ParamPastTheEnd", "mov.u64 %rd1, p;\nld.param.u32 %r1, [%rd1+8]; //A\n"},
     kIllegal,
     {"line @A reads 4 bytes outside the parameters, at 0x8"}},
    {{"ConstPastTheEnd", "mov.u64 %rd1, c;\nld.const.u32 %r1, [%rd1+16]; //A\n",
      ".const .align 4 .u32 c[4] = {1, 2, 3, 4};"},
     kIllegal,
     {"line @A reads 4 bytes outside live allocations",
      "allocation of 16 bytes"}},
};

class MemoryFault : public FaultTest {};
TEST_P(MemoryFault, IsFound) { expectFound(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Memory, MemoryFault, testing::ValuesIn(kFaults),
                         nameOf);

const Kernel kCorrect[] = {
    {"LastBytes", "ld.global.u32 %r1, [%rd0+508];\n"
                  "st.global.u64 [%rd0+992], %rd0;\n"
                  "ld.global.u32 %r2, [%rd0+996];\n"},
    {"ModuleVariables",
     "ld.const.u32 %r1, [c+12];\nld.global.u32 %r2, [v+4];\n"
     "ld.global.u32 %r2, [w];\n",
     ".const .align 4 .u32 c[4] = {1, 2, 3, 4};\n"
     ".global .align 4 .u32 v[2] = {1, 2};\n.global .align 4 .u32 w;"},
    {"LocalAndParam", ".local .align 8 .b8 l[16];\nst.local.u64 [l+8], %rd0;\n"
                      "mov.u64 %rd1, p;\nld.param.u32 %r1, [%rd1+4];\n"},
};

class MemoryCorrect : public CorrectTest {};
TEST_P(MemoryCorrect, GivesNoReport) { EXPECT_DONE(run(GetParam())); }
INSTANTIATE_TEST_SUITE_P(Memory, MemoryCorrect, testing::ValuesIn(kCorrect),
                         kernelName);

class SanitizerMemory : public SanitizerTest {};

TEST_F(SanitizerMemory, FreedMemoryIsFound) {
  CUfunction k = kernel("st.global.u32 [%rd0], %r0;\n");
  CUdeviceptr pointer = allocate(4);
  EXPECT_DONE(launch(k, 1, 1, {&pointer}));
  EXPECT_DONE(cuMemFree_v2(pointer));
  EXPECT_EQ(launch(k, 1, 1, {&pointer}), kIllegal);
  EXPECT_ERROR_HAS("line 8 writes 4 bytes outside live allocations");
}

TEST_F(SanitizerMemory, PartialCopiesAndFillsDefineTheirBytesAlone) {
  CUfunction k = kernel("ld.global.u8 %r1, [%rd0];\n");
  CUdeviceptr buffer = allocate(256);
  EXPECT_DONE(cuMemcpyHtoD_v2(buffer, "abc", 3));
  EXPECT_DONE(cuMemsetD16_v2(buffer + 8, 7, 1));
  for (uint64_t offset : {0, 2, 8, 9}) {
    CUdeviceptr defined = buffer + offset;
    EXPECT_DONE(launch(k, 1, 1, {&defined}));
  }
  CUdeviceptr after = buffer + 3;
  EXPECT_EQ(launch(k, 1, 1, {&after}), kFailed);
  EXPECT_ERROR_HAS("of device memory that nobody has written");
}

// Copies on the device carry what is undefined along.
TEST_F(SanitizerMemory, CopiesCarryWhatIsUndefined) {
  CUfunction k = kernel("ld.global.u32 %r1, [%rd0];\n");
  CUdeviceptr from = allocate(256), to = allocate(256);
  EXPECT_DONE(cuMemsetD32_v2(from, 7, 1));
  EXPECT_DONE(cuMemcpyDtoD_v2(to, from, 256));
  EXPECT_DONE(launch(k, 1, 1, {&to}));
  CUdeviceptr second = to + 4;
  EXPECT_EQ(launch(k, 1, 1, {&second}), kFailed);
}

} // namespace
