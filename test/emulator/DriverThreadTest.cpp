// Several threads use one context at once.
#include "DriverTest.h"

#include <atomic>
#include <thread>

namespace {

class DriverThread : public DriverTest {
protected:
  // Runs `work` on several threads, with the context current on each.
  template <class Work> void together(int count, Work work) {
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i)
      threads.emplace_back([this, i, work] {
        EXPECT_DONE(cuCtxPushCurrent_v2(context));
        work(i);
        EXPECT_DONE(cuCtxPopCurrent_v2(nullptr));
      });
    for (std::thread &thread : threads)
      thread.join();
  }
};

TEST_F(DriverThread, AllocateLoadLaunchAndCopy) {
  together(4, [this](int id) {
    for (int round = 0; round < 5; ++round) {
      int start = id * 100 + round;
      CUmodule module = load(
          ".visible .entry k(.param .u64 p) {\n.reg .b64 %rd<2>; .reg "
          ".b32 %r<2>;\nld.param.u64 %rd1, [p];\nld.global.u32 %r1, "
          "[%rd1];\nadd.u32 %r1, %r1, " +
          std::to_string(start) + ";\nst.global.u32 [%rd1], %r1;\nret;\n}\n");
      CUfunction k = function(module);
      CUstream stream;
      CUevent event;
      EXPECT_DONE(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
      EXPECT_DONE(cuEventCreate(&event, CU_EVENT_DEFAULT));
      CUdeviceptr pointer = allocate(4);
      EXPECT_DONE(cuMemsetD32Async(pointer, 1, 1, stream));
      for (int i = 0; i < 10; ++i)
        EXPECT_DONE(launch(k, 1, 1, {&pointer}, 0, stream));
      EXPECT_DONE(cuEventRecord(event, stream));
      EXPECT_DONE(cuEventSynchronize(event));
      EXPECT_EQ(download<int>(pointer, 1)[0], 10 * start + 1);
      EXPECT_DONE(cuMemFree_v2(pointer));
      EXPECT_DONE(cuStreamDestroy_v2(stream));
      EXPECT_DONE(cuEventDestroy_v2(event));
      EXPECT_DONE(cuModuleUnload(module));
    }
  });
}

TEST_F(DriverThread, CaptureInStreamsOfTheirOwn) {
  CUfunction k = kernel("ld.global.u32 %r1, [%rd0];\nadd.u32 %r1, %r1, 1;\n"
                        "st.global.u32 [%rd0], %r1;\n");
  CUdeviceptr pointers = upload(std::vector<int>(4, 0));
  together(4, [this, k, pointers](int id) {
    CUdeviceptr pointer = pointers + 4 * CUdeviceptr(id);
    CUstream stream;
    EXPECT_DONE(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int round = 0; round < 20; ++round) {
      CUgraph graph;
      CUgraphExec executable;
      EXPECT_DONE(
          cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
      for (int i = 0; i < 5; ++i)
        EXPECT_DONE(launch(k, 1, 1, {&pointer}, 0, stream));
      EXPECT_DONE(cuStreamEndCapture(stream, &graph));
      EXPECT_DONE(
          cuGraphInstantiate_v2(&executable, graph, nullptr, nullptr, 0));
      EXPECT_DONE(cuGraphLaunch(executable, stream));
      EXPECT_DONE(cuGraphExecDestroy(executable));
      EXPECT_DONE(cuGraphDestroy(graph));
    }
    EXPECT_DONE(cuStreamDestroy_v2(stream));
  });
  EXPECT_EQ(download<int>(pointers, 4), std::vector<int>(4, 100));
}

} // namespace
