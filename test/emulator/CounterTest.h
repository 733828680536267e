// CounterTest.h - runs a kernel with counting on and asks for its counters.
//
// Expected values are worked out by hand from the PTX: see docs/emulator.md for
// what each counter means. Besides what a test writes, every kernel executes
// ld.param, mov and ret once a thread.
#pragma once

#include "DriverTest.h"

#include <map>

struct Shape {
  unsigned grid[3] = {1, 1, 1}, block[3] = {32, 1, 1};
};

class CounterTest : public DriverTest {
protected:
  using Counters = std::map<std::string, uint64_t>;
  static constexpr size_t kBytes = 1 << 20;

  void SetUp() override {
    DriverTest::SetUp();
    pascalineEmulatorSetCounting(1);
    buffer = allocate(kBytes);
    EXPECT_DONE(cuMemsetD8_v2(buffer, 0, kBytes));
  }
  void TearDown() override {
    pascalineEmulatorSetCounting(0);
    EXPECT_DONE(cuMemFree_v2(buffer));
    DriverTest::TearDown();
  }

  static Shape threads(unsigned block, unsigned grid = 1) {
    return {{grid, 1, 1}, {block, 1, 1}};
  }

  // The kernel of DriverTest::kernel(); its pointer is to zeros at first.
  Counters count(const std::string &instructions, Shape shape = {},
                 const std::string &declarations = "") {
    return run(kernel(instructions, declarations), shape);
  }
  Counters run(CUfunction function, Shape shape) {
    void *parameters[] = {&buffer};
    EXPECT_DONE(cuLaunchKernel(
        function, shape.grid[0], shape.grid[1], shape.grid[2], shape.block[0],
        shape.block[1], shape.block[2], 0, nullptr, parameters, nullptr));
    return last();
  }
  static Counters last() {
    const char *const *names = nullptr;
    const uint64_t *values = nullptr;
    size_t count = pascalineEmulatorCounters(&names, &values);
    EXPECT_TRUE(values);
    Counters counters;
    for (size_t i = 0; values && i < count; ++i)
      EXPECT_TRUE(counters.emplace(names[i], values[i]).second) << names[i];
    return counters;
  }

  CUdeviceptr buffer = 0;
};

// EXPECT_COUNTERS(c, {{"blocks", 1}, ...})
inline void expectCounters(const std::map<std::string, uint64_t> &counters,
                           const std::map<std::string, uint64_t> &expected) {
  for (auto &[name, value] : expected) {
    auto found = counters.find(name);
    ASSERT_NE(found, counters.end()) << name;
    EXPECT_EQ(found->second, value) << name;
  }
}
#define EXPECT_COUNTERS(counters, ...)                                         \
  {                                                                            \
    SCOPED_TRACE("");                                                          \
    expectCounters(counters, std::map<std::string, uint64_t> __VA_ARGS__);     \
  }
