// RunFixture.h - the sample of Samples.h on a fake driver that computes it:
// what the tests of runs share.
#pragma once

#include "runtime/src/Handles.h"
#include "test/runtime/FakeDriver.h"
#include "test/runtime/Samples.h"

#include <gtest/gtest.h>

namespace pascaline::testing {

constexpr uint32_t kCount = 300;
constexpr uint64_t kBytes = kCount * 4;

// May throw runtime::Error.
inline std::unique_ptr<pascaline_device>
fakeDevice(const FakeDriver &fake, bool emulator = false, int ordinal = 0,
           const pascaline_device_options &options = {}) {
  return std::unique_ptr<pascaline_device>(
      new pascaline_device{std::make_shared<const runtime::Device>(
          fake.driver(), ordinal, emulator, options)});
}

// Runs the kernel of AddSample on the fake device's memory.
inline void add(const FakeLaunch &launch) {
  auto at = [&](int i) {
    return reinterpret_cast<float *>(uintptr_t(launch.parameters[i]));
  };
  for (uint64_t i = 0; i < kCount; ++i)
    at(2)[i] = at(0)[i] + at(1)[i];
}

// The sample's values, and all that one run is given.
struct Fixture {
  AddSample sample{kCount};
  std::string bytes = sample.bytes();
  std::vector<float> a = std::vector<float>(kCount, 2),
                     b = std::vector<float>(kCount, 3),
                     y = std::vector<float>(kCount),
                     constant = std::vector<float>(kCount);
  std::vector<pascaline_buffer> in = {{a.data(), kBytes, PASCALINE_HOST},
                                      {b.data(), kBytes, PASCALINE_HOST}};
  std::vector<pascaline_buffer> out = {
      {y.data(), kBytes, PASCALINE_HOST},
      {constant.data(), kBytes, PASCALINE_HOST}};

  pascaline_status open(pascaline_device *device, pascaline_model **model) {
    return pascaline_model_open_bytes(bytes.data(), bytes.size(), "add.pasc",
                                      device, model);
  }
  pascaline_status run(pascaline_session *session) {
    return pascaline_session_run(session, in.data(), 2, out.data(), 2);
  }
  pascaline_status runAsync(pascaline_session *session, CUstream stream) {
    return pascaline_session_run_async(session, in.data(), 2, out.data(), 2,
                                       stream);
  }
};

// All of it open, and found closed at the end.
struct RunTest : ::testing::Test, Fixture {
  FakeDriver fake;
  std::unique_ptr<pascaline_device> device;
  pascaline_model *model = nullptr;
  pascaline_session *session = nullptr;
  std::vector<std::string> log;

  void openAll() {
    fake.parameterCount = 4;
    fake.onLaunch = add;
    pascaline_device_options options = {};
    options.log_user = &log;
    options.log = [](void *user, const char *message) {
      static_cast<std::vector<std::string> *>(user)->push_back(message);
    };
    device = fakeDevice(fake, false, 0, options);
    ASSERT_EQ(open(device.get(), &model), PASCALINE_OK)
        << pascaline_last_error();
    ASSERT_EQ(pascaline_session_open(model, &session), PASCALINE_OK)
        << pascaline_last_error();
  }
  void TearDown() override {
    pascaline_session_close(session);
    pascaline_model_close(model);
    device.reset();
    EXPECT_EQ(fake.held(), "");
  }
};

} // namespace pascaline::testing
