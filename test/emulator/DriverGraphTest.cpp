// Graphs: what is captured runs at launch, as often and where it is launched.
#include "DriverGraphTest.h"

namespace {

TEST_F(DriverGraph, CapturedWorkRunsAtLaunchOnly) {
  std::vector<int> source = {5, 6}, back = {-1, -1};
  CUdeviceptr pointer = upload(std::vector<int>{1, 2});
  begin(stream);
  EXPECT_EQ(status(stream), kActive);
  EXPECT_DONE(cuMemcpyHtoDAsync_v2(pointer, source.data(), 8, stream));
  EXPECT_DONE(triple(pointer, stream));
  EXPECT_DONE(triple(pointer + 4, stream));
  EXPECT_DONE(triple(pointer, stream));
  EXPECT_DONE(cuMemcpyDtoHAsync_v2(back.data(), pointer, 8, stream));
  CUgraphExec graph = instantiate(end(stream));
  EXPECT_EQ(status(stream), kNone);
  EXPECT_EQ(download<int>(pointer, 2), (std::vector<int>{1, 2}));
  EXPECT_EQ(back, (std::vector<int>{-1, -1}));
  EXPECT_DONE(cuGraphLaunch(graph, stream));
  EXPECT_EQ(back, (std::vector<int>{49, 19}));
  source = {0, 100}; // read at the launch, as the device would
  EXPECT_DONE(cuGraphUpload(graph, other));
  EXPECT_DONE(cuGraphLaunch(graph, other));
  EXPECT_EQ(back, (std::vector<int>{4, 301}));
  EXPECT_DONE(cuStreamSynchronize(stream));
  EXPECT_DONE(cuGraphExecDestroy(graph));
  EXPECT_EQ(cuGraphLaunch(graph, stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuGraphExecDestroy(graph), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(DriverGraph, FillsCopiesAndHostFunctionsAreNodes) {
  CUdeviceptr pointer = upload(std::vector<int>(4, 9));
  int calls = 0;
  begin(stream);
  EXPECT_DONE(cuMemsetD8Async(pointer, 1, 4, stream));
  EXPECT_DONE(cuMemsetD16Async(pointer + 4, 2, 2, stream));
  EXPECT_DONE(cuMemsetD32Async(pointer + 8, 3, 1, stream));
  EXPECT_DONE(cuMemcpyDtoDAsync_v2(pointer + 12, pointer, 4, stream));
  EXPECT_DONE(cuLaunchHostFunc(
      stream, [](void *data) { ++*static_cast<int *>(data); }, &calls));
  CUgraph made = end(stream);
  EXPECT_EQ(calls, 0);
  CUgraphExec graph = instantiate(made);
  EXPECT_DONE(cuGraphDestroy(made)); // the executable one stands on its own
  EXPECT_EQ(cuGraphDestroy(made), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_DONE(cuGraphLaunch(graph, nullptr));
  EXPECT_DONE(cuGraphLaunch(graph, stream));
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(download<int>(pointer, 4),
            (std::vector<int>{0x01010101, 0x00020002, 3, 0x01010101}));
}

TEST_F(DriverGraph, LaunchesKeepTheirParameters) {
  CUfunction k = function(load(
      ".visible .entry k(.param .u64 p, .param .u32 v, .param .b8 pad[600]) {\n"
      ".reg .b64 %rd<2>; .reg .b32 %r<3>;\nld.param.u64 %rd1, [p];\n"
      "ld.param.u32 %r1, [v];\nld.param.u32 %r2, [pad+596];\n"
      "add.u32 %r1, %r1, %r2;\nst.global.u32 [%rd1], %r1;\nret;\n}\n"));
  CUdeviceptr pointer = allocate(4), passed = pointer;
  uint32_t value = 70, pad[150] = {};
  pad[149] = 7;
  begin(stream);
  EXPECT_DONE(launch(k, 1, 1, {&passed, &value, pad}, 0, stream));
  CUgraphExec graph = instantiate(end(stream));
  passed = 0, value = 1, pad[149] = 1;
  EXPECT_DONE(cuGraphLaunch(graph, stream));
  EXPECT_EQ(download<int>(pointer, 1)[0], 77);
}

TEST_F(DriverGraph, EventsForkAndJoinStreams) {
  CUdeviceptr pointer = upload(std::vector<int>{1});
  begin(stream);
  EXPECT_DONE(triple(pointer, stream));
  EXPECT_DONE(cuEventRecord(event, stream));
  EXPECT_EQ(status(other), kNone);
  EXPECT_DONE(cuStreamWaitEvent(other, event, 0));
  EXPECT_EQ(status(other), kActive);
  EXPECT_DONE(triple(pointer, other));
  EXPECT_DONE(cuEventRecord(event, other));
  EXPECT_DONE(cuStreamWaitEvent(stream, event, 0));
  EXPECT_DONE(triple(pointer, stream));
  CUgraphExec graph = instantiate(end(stream));
  EXPECT_EQ(status(other), kNone);
  EXPECT_DONE(triple(pointer, other)); // runs at once again
  EXPECT_EQ(download<int>(pointer, 1)[0], 4);
  EXPECT_DONE(cuGraphLaunch(graph, stream));
  EXPECT_EQ(download<int>(pointer, 1)[0], 4 * 27 + 13);
}

TEST_F(DriverGraph, AGraphMayBeANodeOfAnother) {
  CUdeviceptr pointer = upload(std::vector<int>{0});
  begin(stream);
  EXPECT_DONE(triple(pointer, stream));
  CUgraphExec inner = instantiate(end(stream));
  begin(stream);
  EXPECT_DONE(cuGraphLaunch(inner, stream));
  EXPECT_DONE(cuGraphLaunch(inner, stream));
  CUgraphExec outer = instantiate(end(stream));
  EXPECT_EQ(download<int>(pointer, 1)[0], 0);
  EXPECT_DONE(cuGraphExecDestroy(inner)); // CUDA copies it into the other
  EXPECT_DONE(cuGraphLaunch(outer, stream));
  EXPECT_EQ(download<int>(pointer, 1)[0], 4);
}

TEST_F(DriverGraph, WhatIsGoneAtLaunchIsAnError) {
  CUdeviceptr pointer = allocate(4);
  begin(stream);
  EXPECT_DONE(cuMemsetD8Async(pointer, 1, 4, stream));
  CUgraphExec fill = instantiate(end(stream));
  begin(stream);
  EXPECT_DONE(triple(pointer, stream));
  CUgraphExec run = instantiate(end(stream));
  EXPECT_DONE(cuMemFree_v2(pointer));
  EXPECT_EQ(cuGraphLaunch(fill, stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_DONE(cuModuleUnload(module));
  EXPECT_EQ(cuGraphLaunch(run, stream), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(DriverGraph, WrongLaunchesAreRefusedWhenCaptured) {
  CUdeviceptr pointer = allocate(4);
  begin(stream);
  EXPECT_EQ(launch(tripler, 0, 1, {&pointer}, 0, stream),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(
      cuLaunchKernel(tripler, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr),
      CUDA_ERROR_INVALID_VALUE);
  end(stream);
  CUgraphExec executable;
  EXPECT_EQ(cuGraphInstantiateWithFlags(&executable, nullptr, 0),
            CUDA_ERROR_INVALID_HANDLE);
}

} // namespace
