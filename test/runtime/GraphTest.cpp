// Runs as graphs on a fake driver: when they are captured, what they cost, and
// that whatever goes wrong with them the run is made without.
#include "test/runtime/RunFixture.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace pascaline;
using namespace pascaline::testing;

namespace {

struct GraphTest : RunTest {
  const CUstream callers = reinterpret_cast<CUstream>(uintptr_t(77));

  void runOnce() {
    y.assign(kCount, 0);
    ASSERT_EQ(run(session), PASCALINE_OK) << pascaline_last_error();
    EXPECT_EQ(y[299], 304);
  }
  size_t captures() const { return fake.count("streamBeginCapture"); }
  std::string lastLog() const { return log.empty() ? "" : log.back(); }
  // Reopens the session without graphs.
  void openWithout() {
    pascaline_session_close(session);
    pascaline_session_options options = {sizeof options, 1};
    ASSERT_EQ(pascaline_session_open_with(model, &options, &session),
              PASCALINE_OK);
  }
};

// The contract with a driver: what a captured run is made of.
TEST_F(GraphTest, TheSecondRunIsCapturedAndLaterOnesAreOneLaunch) {
  openAll();
  runOnce();
  EXPECT_EQ(captures(), 0u);
  fake.calls.clear();
  runOnce();
  EXPECT_EQ(
      fake.calls,
      (std::vector<std::string>{
          "ctxPushCurrent", "memcpyHtoDAsync", "memcpyHtoDAsync",
          "streamCreate", "streamBeginCapture", "launchKernel", "launchKernel",
          "streamEndCapture", "graphInstantiate", "graphDestroy", "graphLaunch",
          "memcpyDtoHAsync", "memcpyDtoHAsync", "eventRecord",
          "streamSynchronize", "ctxPopCurrent"}));
  EXPECT_EQ(lastLog(), "model add: its launches are captured as a graph");
  fake.calls.clear();
  runOnce();
  EXPECT_EQ(fake.calls,
            (std::vector<std::string>{
                "ctxPushCurrent", "memcpyHtoDAsync", "memcpyHtoDAsync",
                "graphLaunch", "memcpyDtoHAsync", "memcpyDtoHAsync",
                "eventRecord", "streamSynchronize", "ctxPopCurrent"}));
  EXPECT_EQ(fake.launches.size(), 6u);
  EXPECT_EQ(fake.launches[0].parameters, fake.launches[4].parameters);
}

TEST_F(GraphTest, HostPointersMayChange) {
  openAll();
  runOnce();
  runOnce();
  std::vector<float> other(kCount, 10);
  in[0].data = other.data();
  ASSERT_EQ(run(session), PASCALINE_OK);
  EXPECT_EQ(y[299], 312);
  EXPECT_EQ(captures(), 1u);
}

TEST_F(GraphTest, EachSetOfDevicePointersHasItsOwnUpToFour) {
  openAll();
  runtime::ContextScope scope(*device->device);
  runtime::DeviceMemory memory(*device->device, 6 * 4096, "the test");
  auto runAt = [&](int place) {
    uintptr_t address = uintptr_t(memory.address()) + 4096 * uintptr_t(place);
    memcpy(reinterpret_cast<void *>(address), a.data(), kBytes);
    in[0] = {reinterpret_cast<void *>(address), kBytes, PASCALINE_ON_DEVICE};
    runOnce();
    EXPECT_EQ(fake.launches[fake.launches.size() - 2].parameters[0], address);
  };
  for (int round = 0; round < 4; ++round)
    for (int place = 0; place < 2; ++place)
      runAt(place);
  EXPECT_EQ(captures(), 2u);
  // Addresses that change with each run are never captured.
  for (int round = 0; round < 3; ++round)
    for (int place = 0; place < 6; ++place)
      runAt(place);
  EXPECT_EQ(captures(), 2u);
  EXPECT_EQ(fake.executables, 0) << "two of them have been given up";
}

TEST_F(GraphTest, RunsOnACallersStream) {
  openAll();
  fake.calls.clear();
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(runAsync(session, callers), PASCALINE_OK)
        << pascaline_last_error();
  EXPECT_EQ(fake.count("graphLaunch"), 2u);
  EXPECT_EQ(fake.launches[5].stream, callers);
  EXPECT_EQ(fake.count("streamSynchronize"), 0u);
}

TEST_F(GraphTest, TimesTheWholeOfOne) {
  openAll();
  double total = 0;
  for (int i = 0; i < 2; ++i)
    ASSERT_EQ(pascaline_session_run_timed(session, in.data(), 2, out.data(), 2,
                                          &total, nullptr, 0),
              PASCALINE_OK);
  EXPECT_EQ(fake.count("graphLaunch"), 1u);
  EXPECT_EQ(total, 250);
}

TEST_F(GraphTest, ACallersCaptureTakesTheRunIn) {
  openAll();
  runOnce();
  runtime::ContextScope scope(*device->device);
  runtime::Stream stream(*device->device);
  auto call = device->device->call();
  // One that is still under way is waited for: its arena is this one's.
  ASSERT_EQ(runAsync(session, callers), PASCALINE_OK);
  ASSERT_EQ(
      call.streamBeginCapture(stream.get(), CU_STREAM_CAPTURE_MODE_GLOBAL),
      CUDA_SUCCESS);
  fake.calls.clear();
  size_t before = fake.launches.size();
  ASSERT_EQ(runAsync(session, stream.get()), PASCALINE_OK)
      << pascaline_last_error();
  EXPECT_EQ(fake.count("eventSynchronize"), 1u);
  EXPECT_EQ(fake.count("threadExchangeCaptureMode"), 2u);
  EXPECT_EQ(fake.count("streamBeginCapture"), 0u) << "no capture inside one";
  EXPECT_EQ(fake.launches.size(), before);
  EXPECT_EQ(lastLog(), "model add: a run became part of the caller's graph");
  CUgraph graph;
  CUgraphExec executable;
  ASSERT_EQ(call.streamEndCapture(stream.get(), &graph), CUDA_SUCCESS);
  ASSERT_EQ(call.graphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
  call.graphDestroy(graph);
  for (float value : {1.0f, 7.0f}) {
    a.assign(kCount, value);
    ASSERT_EQ(call.graphLaunch(executable, callers), CUDA_SUCCESS);
    EXPECT_EQ(y[299], value + 3 + 299);
  }
  call.graphExecDestroy(executable);
  a.assign(kCount, 2);
  runOnce();
}

// A first run into a graph has counters to clear there, and again after it.
TEST_F(GraphTest, ACapturedRunLeavesTheCountersAsTheyWere) {
  openAll();
  runtime::ContextScope scope(*device->device);
  runtime::Stream stream(*device->device);
  auto call = device->device->call();
  CUgraph graph;
  call.streamBeginCapture(stream.get(), CU_STREAM_CAPTURE_MODE_GLOBAL);
  ASSERT_EQ(runAsync(session, stream.get()), PASCALINE_OK);
  call.streamEndCapture(stream.get(), &graph);
  call.graphDestroy(graph);
  EXPECT_EQ(fake.count("memsetD8Async"), 1u);
  runOnce();
  EXPECT_EQ(fake.count("memsetD8Async"), 2u);
}

TEST_F(GraphTest, WithoutThemLaunchesGoOneByOne) {
  openAll();
  openWithout();
  for (int i = 0; i < 3; ++i)
    runOnce();
  EXPECT_EQ(captures(), 0u);
  EXPECT_EQ(fake.count("launchKernel"), 6u);
}

TEST_F(GraphTest, ADriverThatHasNoneIsSaidAndServes) {
  fake.hasGraphs = false;
  openAll();
  EXPECT_EQ(log[log.size() - 2],
            "model add: its launches are made one by one, without a graph: the "
            "driver has no graphs; CUDA 11.4 and later have");
  for (int i = 0; i < 3; ++i)
    runOnce();
  ASSERT_EQ(runAsync(session, callers), PASCALINE_OK);
  EXPECT_EQ(fake.count("launchKernel"), 8u);
  EXPECT_EQ(captures() + fake.count("streamIsCapturing"), 0u);
}

TEST_F(GraphTest, AStepThatIsRefusedIsSaidOnceAndTheRunGoesOn) {
  for (const char *step :
       {"streamCreate", "streamBeginCapture", "launchKernel",
        "streamEndCapture", "graphInstantiate", "graphDestroy"}) {
    openAll();
    runOnce();
    long next = long(fake.calls.size());
    // push, two copies, streamCreate, begin, two launches, end, instantiate
    const std::map<std::string, long> places = {
        {"streamCreate", 3},     {"streamBeginCapture", 4},
        {"launchKernel", 6},     {"streamEndCapture", 7},
        {"graphInstantiate", 8}, {"graphDestroy", 9}};
    fake.failAt = next + places.at(step);
    runOnce();
    ASSERT_EQ(fake.calls[size_t(fake.failAt)], step);
    bool captured = !strcmp(step, "graphDestroy"); // after all is well
    if (!captured) {
      EXPECT_NE(lastLog().find("launches are made one by one, without a graph"),
                std::string::npos)
          << step << ": " << lastLog();
    }
    size_t logged = log.size();
    for (int i = 0; i < 2; ++i)
      runOnce();
    EXPECT_EQ(log.size(), logged);
    EXPECT_EQ(captures(), strcmp(step, "streamCreate") ? 1u : 0u);
    fake.failAt = -1;
    pascaline_session_close(session);
    pascaline_model_close(model);
    device.reset();
    session = nullptr, model = nullptr;
    if (captured) // the one that was not given back
      fake.graphs = 0;
    EXPECT_EQ(fake.held(), "") << step;
    fake.calls.clear();
  }
}

TEST_F(GraphTest, ALaunchOfOneThatFailsIsAStatus) {
  openAll();
  runOnce();
  runOnce();
  fake.failAt = long(fake.calls.size()) + 3;
  EXPECT_EQ(run(session), PASCALINE_DRIVER_ERROR);
  EXPECT_STREQ(pascaline_last_error(),
               "device Fake 1080: launching the graph of model add gives "
               "CUDA_ERROR_FAKE (made to fail)");
  runOnce();
}

TEST_F(GraphTest, OptionsOfAnotherSizeAreRefused) {
  openAll();
  pascaline_session_options options = {4, 0};
  pascaline_session *other;
  EXPECT_EQ(pascaline_session_open_with(model, &options, &other),
            PASCALINE_INVALID_ARGUMENT);
  EXPECT_STREQ(pascaline_last_error(),
               "the session options' size is 4, not 16");
  EXPECT_EQ(other, nullptr);
}

} // namespace
