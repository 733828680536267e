#include "DriverTest.h"

namespace {

class DriverStream : public DriverTest {};

TEST_F(DriverStream, WorkIsDoneInStreamOrder) {
  CUstream first, second;
  CUevent event;
  EXPECT_DONE(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
  EXPECT_DONE(cuStreamCreate(&second, CU_STREAM_DEFAULT));
  EXPECT_DONE(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  CUfunction k = kernel("ld.global.u32 %r1, [%rd0];\nmul.lo.u32 %r1, %r1, 3;\n"
                        "add.u32 %r1, %r1, 1;\nst.global.u32 [%rd0], %r1;\n");
  CUdeviceptr pointer = allocate(4);
  int value = 5, result = 0;
  EXPECT_DONE(cuMemcpyHtoDAsync_v2(pointer, &value, 4, first));
  EXPECT_DONE(launch(k, 1, 1, {&pointer}, 0, first));
  EXPECT_DONE(cuEventRecord(event, first));
  EXPECT_DONE(cuStreamWaitEvent(second, event, 0));
  EXPECT_DONE(launch(k, 1, 1, {&pointer}, 0, second));
  EXPECT_DONE(cuMemcpyDtoHAsync_v2(&result, pointer, 4, second));
  EXPECT_DONE(cuStreamSynchronize(second));
  EXPECT_EQ(result, 49);
  EXPECT_DONE(cuStreamQuery(first));
  EXPECT_DONE(cuEventQuery(event));
  EXPECT_DONE(cuStreamDestroy_v2(first));
  EXPECT_EQ(cuStreamSynchronize(first), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamDestroy_v2(first), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(&result, pointer, 4, first),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_DONE(cuStreamDestroy_v2(second));
  EXPECT_DONE(cuEventDestroy_v2(event));
  EXPECT_EQ(cuEventRecord(event, nullptr), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(DriverStream, EventsMeasureTime) {
  CUevent start, end, untimed;
  EXPECT_DONE(cuEventCreate(&start, CU_EVENT_DEFAULT));
  EXPECT_DONE(cuEventCreate(&end, CU_EVENT_BLOCKING_SYNC));
  EXPECT_DONE(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
  float milliseconds = -1;
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, start, end),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_DONE(cuEventSynchronize(start)); // never recorded: nothing to await
  // A counted loop that takes some time.
  CUfunction k = kernel("LOOP:\nadd.u32 %r0, %r0, 1;\n"
                        "st.volatile.global.u32 [%rd0], %r0;\n"
                        "setp.lt.u32 %p1, %r0, 3000000;\n@%p1 bra LOOP;\n");
  CUdeviceptr pointer = allocate(4);
  EXPECT_DONE(cuEventRecord(start, nullptr));
  EXPECT_DONE(launch(k, 1, 1, {&pointer}));
  EXPECT_DONE(cuEventRecord(end, nullptr));
  EXPECT_DONE(cuEventRecord(untimed, nullptr));
  EXPECT_DONE(cuEventSynchronize(end));
  EXPECT_DONE(cuEventElapsedTime(&milliseconds, start, end));
  EXPECT_GT(milliseconds, 0.1f);
  EXPECT_LT(milliseconds, 10000.0f);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, start, untimed),
            CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(DriverStream, RefusesUnknownFlags) {
  CUstream stream;
  CUevent event;
  EXPECT_EQ(cuStreamCreate(&stream, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuEventCreate(&event, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuEventCreate(&event, 4 | CU_EVENT_DISABLE_TIMING),
            CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(DriverStream, HostFunctionsRun) {
  int calls = 0;
  EXPECT_DONE(cuLaunchHostFunc(
      nullptr, [](void *data) { ++*static_cast<int *>(data); }, &calls));
  EXPECT_EQ(calls, 1);
}

} // namespace
