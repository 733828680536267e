// Failures on request. The setting is read once a process, so each test runs
// in one of its own: gtest's "threadsafe" death tests start the program anew.
#include "DriverTest.h"

#include <cstdlib>

namespace {

class DriverInjectionDeathTest : public testing::Test {
protected:
  void SetUp() override {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
  }
};

// For a process of its own: ends it with 0 when all that it saw was right.
class Process : public DriverTest {
public:
  explicit Process(const char *setting) {
    setenv("PASCALINE_EMULATOR_FAIL", setting, 1);
  }
  void start() { SetUp(); }
  [[noreturn]] static void end() { _exit(testing::Test::HasFailure() ? 1 : 0); }
  void TestBody() override {}

  using DriverTest::kernel, DriverTest::launch, DriverTest::context;
};

#define EXPECT_GOOD_PROCESS(statement)                                         \
  EXPECT_EXIT(statement, testing::ExitedWithCode(0), "")

void allocationsFail() {
  Process process("cuMemAlloc:2,cuMemAlloc:4=999");
  process.start();
  CUdeviceptr pointer;
  EXPECT_DONE(cuMemAlloc_v2(&pointer, 4));
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 4), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_ERROR_HAS("cuMemAlloc_v2 fails on request");
  EXPECT_DONE(cuMemAlloc_v2(&pointer, 4));
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 4), CUDA_ERROR_UNKNOWN);
  EXPECT_DONE(cuMemAlloc_v2(&pointer, 4));
  Process::end();
}

void launchErrorsStick() {
  Process process("cuLaunchKernel:2=700");
  process.start();
  CUfunction k = process.kernel("");
  CUdeviceptr pointer = 0;
  EXPECT_DONE(Process::launch(k, 1, 1, {&pointer}));
  EXPECT_EQ(Process::launch(k, 1, 1, {&pointer}), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_ERROR_HAS("cuLaunchKernel fails on request");
  EXPECT_DONE(cuDevicePrimaryCtxReset_v2(0)); // a new context is whole
  EXPECT_DONE(cuDevicePrimaryCtxRetain(&process.context, 0));
  EXPECT_DONE(cuCtxSetCurrent(process.context));
  EXPECT_DONE(cuMemAlloc_v2(&pointer, 4));
  Process::end();
}

void theDeviceIsLost() {
  Process process("cuStreamSynchronize:2=lost");
  process.start();
  CUfunction k = process.kernel("");
  CUdeviceptr pointer = 0;
  EXPECT_DONE(cuStreamSynchronize(nullptr));
  EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_ERROR_UNKNOWN);
  EXPECT_ERROR_HAS("the device is lost");
  EXPECT_EQ(Process::launch(k, 1, 1, {&pointer}), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 4), CUDA_ERROR_UNKNOWN);
  CUcontext again;
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&again, 0), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(cuInit(0), CUDA_ERROR_UNKNOWN);
  Process::end();
}

// Every kind of call knows its own name, also those that share their code.
void everyKindIsCounted() {
  Process process("cuMemsetD8Async:1,cuMemcpyHtoD:1,cuEventQuery:1,"
                  "cuGraphDestroy:1,cuFuncSetCacheConfig:1,cuStreamQuery:1,"
                  "cuDeviceGetCount:1=100,cuMemcpyDtoHAsync_v2:1,"
                  "cuOccupancyMaxPotentialBlockSize:1");
  process.start();
  int value = 0;
  EXPECT_EQ(cuMemsetD8Async(0, 0, 0, nullptr), CUDA_ERROR_UNKNOWN);
  EXPECT_DONE(cuMemsetD8Async(0, 0, 0, nullptr));
  EXPECT_DONE(cuMemcpyDtoH_v2(&value, 0, 0));
  EXPECT_EQ(cuMemcpyHtoD_v2(0, &value, 0), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(&value, 0, 0, nullptr), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(cuEventSynchronize(nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventQuery(nullptr), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(cuGraphExecDestroy(nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuGraphDestroy(nullptr), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(cuFuncSetCacheConfig(nullptr, 0), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(cuStreamQuery(nullptr), CUDA_ERROR_UNKNOWN);
  EXPECT_DONE(cuStreamSynchronize(nullptr));
  EXPECT_EQ(cuDeviceGetCount(&value), CUDA_ERROR_NO_DEVICE);
  EXPECT_EQ(
      cuOccupancyMaxPotentialBlockSize(&value, &value, nullptr, nullptr, 0, 0),
      CUDA_ERROR_UNKNOWN);
  Process::end();
}

void anyCallFails() {
  Process process("*:3");
  EXPECT_DONE(cuInit(0));
  int count;
  EXPECT_DONE(cuDeviceGetCount(&count));
  EXPECT_EQ(cuDeviceGetCount(&count), CUDA_ERROR_UNKNOWN);
  EXPECT_DONE(cuDeviceGetCount(&count));
  Process::end();
}

void nonsenseIsRefused(const char *setting) {
  Process process(setting);
  EXPECT_EQ(cuInit(0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ERROR_HAS("PASCALINE_EMULATOR_FAIL");
  Process::end();
}

void settingIsRefused(const char *name, const char *value) {
  Process process("");
  setenv(name, value, 1);
  EXPECT_EQ(cuInit(0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ERROR_HAS(name);
  Process::end();
}

// Read once a process too.
TEST_F(DriverInjectionDeathTest, SettingsThatMakeNoSenseAreRefused) {
  const char *const settings[][2] = {{"PASCALINE_EMULATOR_MEMORY", "8GiB"},
                                     {"PASCALINE_EMULATOR_MEMORY", "1e9"},
                                     {"PASCALINE_EMULATOR_MEMORY", "-1"},
                                     {"PASCALINE_EMULATOR_THREADS", "0"},
                                     {"PASCALINE_EMULATOR_THREADS", "65"},
                                     {"PASCALINE_EMULATOR_DEVICES", "17"},
                                     {"PASCALINE_EMULATOR_TIMEOUT", "10 min"},
                                     {"PASCALINE_EMULATOR_TIMEOUT", "inf"},
                                     {"PASCALINE_EMULATOR_CACHE_SIZE", "1G"}};
  for (auto &[name, value] : settings)
    EXPECT_GOOD_PROCESS(settingIsRefused(name, value)) << name << value;
}

TEST_F(DriverInjectionDeathTest, AllocationsFail) {
  EXPECT_GOOD_PROCESS(allocationsFail());
}
TEST_F(DriverInjectionDeathTest, LaunchErrorsStick) {
  EXPECT_GOOD_PROCESS(launchErrorsStick());
}
TEST_F(DriverInjectionDeathTest, TheDeviceIsLost) {
  EXPECT_GOOD_PROCESS(theDeviceIsLost());
}
TEST_F(DriverInjectionDeathTest, EveryKindIsCounted) {
  EXPECT_GOOD_PROCESS(everyKindIsCounted());
}
TEST_F(DriverInjectionDeathTest, AnyCallFails) {
  EXPECT_GOOD_PROCESS(anyCallFails());
}
TEST_F(DriverInjectionDeathTest, NonsenseIsRefused) {
  for (const char *setting :
       {"cuMemAlloc", "cuMemAlloc:0", "cuMemAlloc:x", ":1",
        "cuMemAlloc:1=", "cuMemAlloc:1=0", "cuMemAlloc:1=gone",
        "cuMemAlloc:1,,", "cuNoSuchCall:1", "cuMemAlloc:99999999999999999999"})
    EXPECT_GOOD_PROCESS(nonsenseIsRefused(setting)) << setting;
}

} // namespace
