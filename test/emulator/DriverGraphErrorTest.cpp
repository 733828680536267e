// What CUDA documents as not allowed while a stream captures.
#include "DriverGraphTest.h"

#include <functional>
#include <thread>

namespace {

class DriverGraphError : public DriverGraph {
protected:
  // The call fails so and leaves the capture of `stream` invalid.
  void expectInvalidates(CUresult expected,
                         const std::function<CUresult()> &call) {
    begin(stream);
    EXPECT_EQ(call(), expected) << lastError();
    EXPECT_EQ(status(stream), kInvalid);
    EXPECT_EQ(cuMemsetD8Async(pointer, 1, 4, stream),
              CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(endResult(stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(status(stream), kNone);
    EXPECT_DONE(cuMemsetD8Async(pointer, 1, 4, stream));
  }
  void SetUp() override {
    DriverGraph::SetUp();
    pointer = allocate(4);
  }

  CUdeviceptr pointer = 0;
};

TEST_F(DriverGraphError, Waiting) {
  constexpr CUresult kExpected = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  expectInvalidates(kExpected, [&] { return cuStreamSynchronize(stream); });
  expectInvalidates(kExpected, [&] { return cuStreamQuery(stream); });
  expectInvalidates(kExpected, [] { return cuCtxSynchronize(); });
  auto captured = [&](auto use) {
    return [this, use] {
      EXPECT_DONE(cuEventRecord(event, stream));
      return use();
    };
  };
  expectInvalidates(CUDA_ERROR_CAPTURED_EVENT,
                    captured([&] { return cuEventSynchronize(event); }));
  expectInvalidates(CUDA_ERROR_CAPTURED_EVENT,
                    captured([&] { return cuEventQuery(event); }));
  float time;
  expectInvalidates(CUDA_ERROR_CAPTURED_EVENT, captured([&] {
                      return cuEventElapsedTime(&time, event, event);
                    }));
  EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_DONE(cuEventRecord(event, stream)); // a moment again
  EXPECT_DONE(cuEventQuery(event));
}

TEST_F(DriverGraphError, CallsThatMayWaitForTheDevice) {
  constexpr CUresult kExpected = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  CUdeviceptr more;
  void *host;
  int value;
  CUmodule loaded;
  expectInvalidates(kExpected, [&] { return cuMemAlloc_v2(&more, 4); });
  expectInvalidates(kExpected, [&] { return cuMemFree_v2(pointer); });
  expectInvalidates(kExpected, [&] { return cuMemAllocHost_v2(&host, 4); });
  expectInvalidates(kExpected,
                    [&] { return cuMemcpyDtoH_v2(&value, pointer, 4); });
  expectInvalidates(kExpected, [&] { return cuMemsetD8_v2(pointer, 0, 4); });
  expectInvalidates(
      kExpected, [&] { return cuModuleLoadData(&loaded, header().c_str()); });
}

TEST_F(DriverGraphError, ModesSayWhoseCallsAreSafe) {
  auto allocates = [&](bool elsewhere) {
    CUresult result;
    auto call = [&] {
      CUdeviceptr more;
      cuCtxPushCurrent_v2(context);
      result = cuMemAlloc_v2(&more, 4);
      cuCtxPopCurrent_v2(nullptr);
    };
    if (elsewhere)
      std::thread(call).join();
    else
      call();
    return result;
  };
  begin(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_DONE(allocates(false));
  EXPECT_DONE(allocates(true));
  end(stream);
  begin(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_DONE(allocates(true));
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  EXPECT_DONE(cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_DONE(allocates(false));
  EXPECT_DONE(cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_EQ(allocates(false), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(endResult(stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_EQ(allocates(true), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(endResult(stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(DriverGraphError, TheDefaultStreamAndBlockingOnes) {
  EXPECT_EQ(cuStreamBeginCapture_v2(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  begin(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_DONE(cuMemsetD8Async(pointer, 1, 4, nullptr)); // non-blocking: free
  end(stream);
  CUstream blocking;
  EXPECT_DONE(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
  begin(blocking, CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_EQ(cuMemsetD8Async(pointer, 1, 4, nullptr),
            CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(endResult(blocking), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin(blocking, CU_STREAM_CAPTURE_MODE_RELAXED);
  CUstreamCaptureStatus status;
  EXPECT_EQ(cuStreamIsCapturing(nullptr, &status),
            CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(endResult(blocking), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(DriverGraphError, EventsAcrossTheBoundary) {
  EXPECT_DONE(cuEventRecord(event, other));
  expectInvalidates(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
                    [&] { return cuStreamWaitEvent(stream, event, 0); });
  CUevent never;
  EXPECT_DONE(cuEventCreate(&never, 0));
  begin(stream);
  EXPECT_DONE(cuStreamWaitEvent(stream, never, 0));
  end(stream);
  // Two captures cannot become one.
  begin(other);
  EXPECT_DONE(cuEventRecord(event, other));
  expectInvalidates(CUDA_ERROR_STREAM_CAPTURE_MERGE,
                    [&] { return cuStreamWaitEvent(stream, event, 0); });
  EXPECT_EQ(endResult(other), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(DriverGraphError, EndingWrongly) {
  EXPECT_EQ(endResult(stream), CUDA_ERROR_ILLEGAL_STATE);
  begin(stream);
  EXPECT_EQ(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL),
            CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_DONE(cuEventRecord(event, stream));
  EXPECT_DONE(cuStreamWaitEvent(other, event, 0));
  EXPECT_EQ(endResult(other), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  CUresult result;
  auto elsewhere = [&] {
    cuCtxPushCurrent_v2(context);
    result = endResult(stream);
  };
  std::thread(elsewhere).join();
  EXPECT_EQ(result, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  EXPECT_DONE(cuMemsetD8Async(pointer, 1, 4, other)); // and never joined
  EXPECT_EQ(endResult(stream), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  EXPECT_EQ(status(other), kNone);
  begin(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  std::thread(elsewhere).join();
  EXPECT_EQ(result, CUDA_SUCCESS);
  EXPECT_EQ(cuStreamBeginCapture_v2(stream, CUstreamCaptureMode(3)),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverGraphError, DestroyedStreamsEndTheirCapture) {
  begin(stream);
  EXPECT_DONE(cuEventRecord(event, stream));
  EXPECT_DONE(cuStreamWaitEvent(other, event, 0));
  EXPECT_DONE(cuStreamDestroy_v2(stream));
  EXPECT_EQ(status(other), kNone);
  EXPECT_DONE(cuCtxSynchronize());
  CUdeviceptr more;
  EXPECT_DONE(cuMemAlloc_v2(&more, 4));
}

} // namespace
