// Driver.h - the CUDA driver API as a table of function pointers, filled from a
// library with dlopen or, in tests, by hand.
//
// Test: test/runtime/DeviceTest.cpp
#pragma once

#include "runtime/driver/emulator.h"

#include <memory>
#include <string>

namespace pascaline::runtime {

struct DriverTable {
#define PASCALINE_MEMBER(name, symbol, parameters)                             \
  CUresult(*name) parameters = nullptr;
  PASCALINE_CUDA_FUNCTIONS(PASCALINE_MEMBER)
  PASCALINE_CUDA_GRAPH_FUNCTIONS(PASCALINE_MEMBER)
#undef PASCALINE_MEMBER
  // Whether all of the second list are there; else none is called.
  bool graphs = false;
};

class Driver {
public:
  // Throws Error(PASCALINE_NO_DEVICE) with the reason.
  static std::shared_ptr<const Driver> load(const std::string &path);

  Driver(const DriverTable &table, void *library)
      : call(table), library(library) {}
  Driver(const Driver &) = delete;
  Driver &operator=(const Driver &) = delete;
  ~Driver();

  // "CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected)". The emulator
  // knows more of this thread's last failure than its name, and is asked.
  std::string errorText(CUresult result) const;

  const DriverTable call;
  // The emulator's counters; null in a real driver.
  pascalineEmulatorSetCountingFunction *setCounting = nullptr;
  pascalineEmulatorCountersFunction *counters = nullptr;

private:
  void *library; // from dlopen, or null
  pascalineEmulatorLastErrorFunction *explanation = nullptr;
};

// Where the emulator is: $PASCALINE_EMULATOR, else beside this library.
std::string emulatorPath();

} // namespace pascaline::runtime
