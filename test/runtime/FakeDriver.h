// FakeDriver.h - a driver for tests: memory is the host's, kernels are recorded
// and not run, and any call can be told to fail. It has any number of devices,
// each with its context and its memory, and captures streams into graphs.
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
  CUstream stream; // of the launch, or of the launch of its graph
  CUcontext context;
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
  int deviceCount = 1;
  std::string deviceName = "Fake 1080";
  bool hasGraphs = true; // in the table that driver() gives next
  size_t freeBytes = size_t(1) << 30;
  int capability = 61;
  bool refusesCubins = false;
  int mostThreads = 1024;

  // What is held and was not given back.
  std::map<CUdeviceptr, size_t> memory;
  int contexts = 0, modules = 0, streams = 0, events = 0, graphs = 0,
      executables = 0;
  std::vector<CUcontext> current;
  std::string held() const; // "2 events, 1 graphs"; empty: nothing

  // Which context each piece of memory belongs to.
  std::map<CUdeviceptr, CUcontext> owners;
  // What streams that capture have recorded, and graphs hold.
  using Work = std::vector<std::function<void(CUstream)>>;
  std::map<CUstream, Work> captures;
  std::map<uintptr_t, Work> recorded; // by graph's and executable's number
  std::map<uintptr_t, int *> live;    // handles, and what counts them
  uintptr_t lastHandle = 0;
};

} // namespace pascaline::testing
