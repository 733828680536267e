// Which device is taken, and what is said when there is none.
#include "pascaline/pascaline.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

namespace {

std::string refusal(const char *selector, pascaline_status expected) {
  pascaline_device *device;
  EXPECT_EQ(pascaline_device_open(selector, nullptr, &device), expected);
  EXPECT_EQ(device, nullptr);
  return pascaline_last_error();
}

TEST(Device, SelectorsAreChecked) {
  for (const char *selector : {"", "cuda", "gpu:", "gpu:x", "gpu:-1", "gpu:1x",
                               "gpu:99999", "emulator:0"})
    EXPECT_EQ(refusal(selector, PASCALINE_INVALID_ARGUMENT),
              "device \"" + std::string(selector) +
                  "\" is none of auto, gpu, gpu:N, emulator");
}

TEST(Device, AMissingEmulatorIsSaid) {
  setenv("PASCALINE_EMULATOR", "/no/such/emulator.so", 1);
  std::string sentence = refusal("emulator", PASCALINE_NO_DEVICE);
  EXPECT_NE(sentence.find("/no/such/emulator.so"), std::string::npos)
      << sentence;
  unsetenv("PASCALINE_EMULATOR");
}

TEST(Device, ALibraryThatIsNoDriverIsSaid) {
  setenv("PASCALINE_EMULATOR", "libm.so.6", 1);
  EXPECT_EQ(refusal("emulator", PASCALINE_NO_DEVICE),
            "libm.so.6: has no function cuInit; install a driver of CUDA 9 or "
            "later");
  unsetenv("PASCALINE_EMULATOR");
}

TEST(Device, OptionsOfAnotherSizeAreRefused) {
  pascaline_device_options options = {};
  options.size = 4;
  pascaline_device *device;
  EXPECT_EQ(pascaline_device_open("auto", &options, &device),
            PASCALINE_INVALID_ARGUMENT);
  EXPECT_EQ(device, nullptr);
}

} // namespace
