// A kernel that never ends. The limit is read once a process, so this one runs
// in a process of its own.
#include "DriverTest.h"

#include <cstdlib>
#include <unistd.h>

namespace {

class DriverTimeoutDeathTest : public DriverTest {
protected:
  void SetUp() override {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
  }
  void TearDown() override {}

  void endless() {
    setenv("PASCALINE_EMULATOR_TIMEOUT", "0.3", 1);
    DriverTest::SetUp();
    CUfunction k = kernel("LOOP:\nld.volatile.global.u32 %r1, [%rd0];\n"
                          "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra LOOP;\n");
    CUdeviceptr pointer = upload(std::vector<int>(1, 0));
    EXPECT_EQ(launch(k, 300, 64, {&pointer}), CUDA_ERROR_LAUNCH_TIMEOUT);
    EXPECT_ERROR_HAS("PASCALINE_EMULATOR_TIMEOUT");
    EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_TIMEOUT);
    _exit(HasFailure() ? 1 : 0);
  }
};

TEST_F(DriverTimeoutDeathTest, EndlessLoopsEnd) {
  EXPECT_EXIT(endless(), testing::ExitedWithCode(0), "");
}

} // namespace
