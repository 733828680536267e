// Several devices, as GPUs: the emulator, found as libcuda.so.1, says that it
// is two. And every function of the driver made to fail in the program, by the
// emulator's own injection.
#include "pascaline/pascaline.h"
#include "runtime/driver/cuda_driver.h"
#include "test/runtime/Tool.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>
#include <unistd.h>

using namespace pascaline::testing;

namespace {

struct Devices : ToolTest {
  const std::string runOnGpu = "run add.pasc --device gpu:1 --output-dir out "
                               "--input a=a.npy --input b=b.npy";

  pascaline_device *openDevice(const char *selector) {
    pascaline_device *device;
    EXPECT_EQ(pascaline_device_open(selector, nullptr, &device), PASCALINE_OK)
        << pascaline_last_error();
    return device;
  }
  std::string reasonOf(pascaline_device *device) {
    pascaline_device_info info = {};
    EXPECT_EQ(pascaline_device_get_info(device, &info), PASCALINE_OK);
    EXPECT_EQ(info.emulator, 0);
    return info.reason;
  }
};

TEST_F(Devices, TwoAreOpenAtOnce) {
  size_t count = 0;
  ASSERT_EQ(pascaline_gpu_count(&count), PASCALINE_OK);
  EXPECT_EQ(count, 2u);
  pascaline_device *devices[] = {openDevice("gpu:0"), openDevice("gpu:1")};
  ASSERT_TRUE(devices[0] && devices[1]);
  EXPECT_EQ(reasonOf(devices[0]), "gpu 0, Pascaline emulator (sm_61) (compute "
                                  "capability 6.1)");
  EXPECT_EQ(reasonOf(devices[1]).substr(0, 5), "gpu 1");
  pascaline_model *models[2];
  pascaline_session *sessions[2];
  std::string path = folder / "add.pasc";
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(pascaline_model_open(path.c_str(), devices[i], &models[i]),
              PASCALINE_OK);
    ASSERT_EQ(pascaline_session_open(models[i], &sessions[i]), PASCALINE_OK);
  }
  std::thread other(runMany, sessions[1], 7.0f);
  runMany(sessions[0], 1);
  other.join();
  // Closing one leaves the other alone.
  pascaline_session_close(sessions[0]);
  pascaline_model_close(models[0]);
  pascaline_device_close(devices[0]);
  runMany(sessions[1], 3);
  pascaline_session_close(sessions[1]);
  pascaline_model_close(models[1]);
  pascaline_device_close(devices[1]);
}

TEST_F(Devices, OneThatIsNotThereIsSaid) {
  pascaline_device *device;
  EXPECT_EQ(pascaline_device_open("gpu:2", nullptr, &device),
            PASCALINE_NO_DEVICE);
  EXPECT_STREQ(pascaline_last_error(), "gpu 2: there are 2, counted from 0");
}

TEST_F(Devices, DoctorNamesEach) {
  ToolResult result = run("doctor");
  EXPECT_EQ(result.code, 0) << result.err;
  for (const char *line : {"gpu 0      Pascaline", "gpu 1      Pascaline"})
    EXPECT_NE(result.out.find(line), std::string::npos) << result.out;
}

TEST_F(Devices, AWrongNumberOfThemIsSaid) {
  setenv("PASCALINE_EMULATOR_DEVICES", "17", 1);
  ToolResult result = run(runOnGpu);
  setenv("PASCALINE_EMULATOR_DEVICES", "2", 1);
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.err.find("PASCALINE_EMULATOR_DEVICES is not a number from 1 "
                            "to 16"),
            std::string::npos)
      << result.err;
}

// What a user sees: one sentence and no files, or the right result.
TEST_F(Devices, AProgramSurvivesAnyCallThatFails) {
  size_t failures = 0;
  for (const char *symbol : {
#define SYMBOL(name, symbol, parameters) #symbol,
           PASCALINE_CUDA_FUNCTIONS(SYMBOL)
               PASCALINE_CUDA_GRAPH_FUNCTIONS(SYMBOL)
#undef SYMBOL
       }) {
    std::string call = symbol;
    if (size_t at = call.rfind("_v"); at != std::string::npos)
      call.resize(at);
    for (const char *number : {":1", ":2"}) {
      setenv("PASCALINE_EMULATOR_FAIL", (call + number).c_str(), 1);
      ToolResult result = run(runOnGpu);
      std::string what = call + number + ": " + result.err;
      if (result.code == 0) {
        EXPECT_EQ(read("out/y.npy").size(), 128 + 1200u) << what;
        std::filesystem::remove_all(folder / "out");
        continue;
      }
      ++failures;
      EXPECT_EQ(result.code, 1) << what;
      EXPECT_EQ(result.err.find("pascaline: "), 0u) << what;
      EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << what;
      EXPECT_NE(result.err.find("on request (PASCALINE_EMULATOR_FAIL)"),
                std::string::npos)
          << what;
      EXPECT_FALSE(std::filesystem::exists(folder / "out")) << what;
    }
  }
  unsetenv("PASCALINE_EMULATOR_FAIL");
  EXPECT_GE(failures, 20u);
}

} // namespace

// The loader reads LD_LIBRARY_PATH when a program starts.
int main(int argc, char **argv) {
  const char *path = getenv("LD_LIBRARY_PATH");
  if (!path || std::string(path) != PASCALINE_TEST_CUDA_FOLDER) {
    setenv("LD_LIBRARY_PATH", PASCALINE_TEST_CUDA_FOLDER, 1);
    setenv("PASCALINE_EMULATOR_DEVICES", "2", 1);
    execv("/proc/self/exe", argv);
    return 1;
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
