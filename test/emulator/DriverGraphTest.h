// DriverGraphTest.h - two streams to capture with, and work for them.
#pragma once

#include "DriverTest.h"

class DriverGraph : public DriverTest {
protected:
  static constexpr auto kNone = CU_STREAM_CAPTURE_STATUS_NONE,
                        kActive = CU_STREAM_CAPTURE_STATUS_ACTIVE,
                        kInvalid = CU_STREAM_CAPTURE_STATUS_INVALIDATED;

  void SetUp() override {
    DriverTest::SetUp();
    ASSERT_DONE(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ASSERT_DONE(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    ASSERT_DONE(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    module = load(
        ".visible .entry k(.param .u64 p) {\n.reg .b64 %rd<2>; .reg .b32 "
        "%r<2>;\nld.param.u64 %rd1, [p];\nld.global.u32 %r1, [%rd1];\n"
        "mad.lo.u32 %r1, %r1, 3, 1;\nst.global.u32 [%rd1], %r1;\nret;\n}\n");
    tripler = function(module);
  }

  // Three times the number, and one more.
  CUresult triple(CUdeviceptr pointer, CUstream on) {
    return launch(tripler, 1, 1, {&pointer}, 0, on);
  }
  void begin(CUstream on,
             CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL) {
    ASSERT_DONE(cuStreamBeginCapture_v2(on, mode));
  }
  CUgraph end(CUstream on) {
    CUgraph graph = nullptr;
    EXPECT_DONE(cuStreamEndCapture(on, &graph));
    return graph;
  }
  static CUresult endResult(CUstream on) {
    CUgraph graph;
    return cuStreamEndCapture(on, &graph);
  }
  CUgraphExec instantiate(CUgraph graph) {
    CUgraphExec executable = nullptr;
    EXPECT_DONE(cuGraphInstantiateWithFlags(&executable, graph, 0));
    return executable;
  }
  static CUstreamCaptureStatus status(CUstream of) {
    auto status = CUstreamCaptureStatus(-1);
    EXPECT_DONE(cuStreamIsCapturing(of, &status));
    return status;
  }

  CUstream stream = nullptr, other = nullptr;
  CUevent event = nullptr;
  CUmodule module = nullptr;
  CUfunction tripler = nullptr;
};
