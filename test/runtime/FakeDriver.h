// FakeDriver.h - a driver for tests: memory is the host's, kernels are recorded
// and not run, and any call can be told to fail.
#pragma once

#include "runtime/src/Driver.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace pascaline::testing {

struct FakeLaunch {
  std::string kernel;
  unsigned grid[3], block[3];
  unsigned sharedBytes;
  CUstream stream;
  std::vector<uint64_t> parameters; // as many as FakeDriver::parameterCount
};

// One at a time; the functions of its table work on the one that lives.
class FakeDriver {
public:
  FakeDriver();
  ~FakeDriver();
  FakeDriver(const FakeDriver &) = delete;

  std::shared_ptr<const runtime::Driver> driver() const;

  // Names of the table's members, in the order they were called.
  std::vector<std::string> calls;
  size_t count(const std::string &name) const;
  // The call with this index (in `calls`) fails; -1: none.
  long failAt = -1;
  CUresult failWith = CUDA_ERROR_UNKNOWN;

  std::vector<FakeLaunch> launches;
  size_t parameterCount = 3;
  std::function<void(const FakeLaunch &)> onLaunch;
  std::vector<std::string> images; // what modules were loaded from
  std::string jitLog;              // put into the error log buffer
  size_t freeBytes = size_t(1) << 30;
  int capability = 61;
  int mostThreads = 1024;

  // What is held and was not given back.
  std::map<CUdeviceptr, size_t> memory;
  int contexts = 0, pushed = 0, modules = 0, streams = 0, events = 0;
  bool nothingHeld() const {
    return memory.empty() && !contexts && !pushed && !modules && !streams &&
           !events;
  }
};

} // namespace pascaline::testing
