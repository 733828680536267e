// Device.h - one GPU, or the emulator, with its primary context held.
//
// Test: test/runtime/DeviceTest.cpp
#pragma once

#include "runtime/src/Driver.h"

#include "pascaline/pascaline.h"

#include <memory>
#include <string>

namespace pascaline::runtime {

class Device {
public:
  // See pascaline_device_open.
  static std::shared_ptr<const Device>
  open(const std::string &selector, const pascaline_device_options &options);

  // Cards of the driver, at least one.
  static int gpuCount();

  // The device `ordinal` of a driver that is there already.
  Device(std::shared_ptr<const Driver> driver, int ordinal, bool emulator,
         const pascaline_device_options &options);
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;
  ~Device();

  const DriverTable &call() const { return driver->call; }

  // Throws Error with `doing` in front of what the driver says.
  void check(CUresult result, const char *doing) const {
    if (result != CUDA_SUCCESS)
      failed(result, doing);
  }
  [[noreturn]] void failed(CUresult result, const std::string &doing) const;

  int attribute(CUdevice_attribute attribute) const;
  void log(const std::string &message) const;

  // In the current context.
  void memory(uint64_t &free, uint64_t &total) const;

  // Whether kernels are to count what they do; then the driver can.
  bool counts() const { return options.counting; }

  const std::shared_ptr<const Driver> driver;
  std::string name;
  std::string reason; // why this device was taken
  bool emulator;
  int major = 0;
  int minor = 0;
  int driverVersion = 0;
  CUcontext context = nullptr;

private:
  CUdevice handle = 0;
  pascaline_device_options options;
};

// Makes the device's context current for a scope.
class ContextScope {
public:
  enum Quiet { quiet };
  explicit ContextScope(const Device &device) : device(device) {
    device.check(device.call().ctxPushCurrent(device.context),
                 "making its context current");
    pushed = true;
  }
  // For destructors, which go on when it fails.
  ContextScope(const Device &device, Quiet) : device(device) {
    pushed = device.call().ctxPushCurrent(device.context) == CUDA_SUCCESS;
  }
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;
  ~ContextScope() {
    CUcontext popped;
    if (pushed)
      device.call().ctxPopCurrent(&popped);
  }

private:
  const Device &device;
  bool pushed = false;
};

// Memory on a device. The device outlives it; of no bytes it is a null pointer.
class DeviceMemory {
public:
  DeviceMemory() = default;
  // In the current context. `what` is what an error calls it.
  DeviceMemory(const Device &device, uint64_t bytes, const char *what);
  DeviceMemory(DeviceMemory &&other) noexcept { *this = std::move(other); }
  DeviceMemory &operator=(DeviceMemory &&other) noexcept {
    std::swap(device, other.device);
    std::swap(pointer, other.pointer);
    return *this;
  }
  ~DeviceMemory();
  CUdeviceptr address() const { return pointer; }

private:
  const Device *device = nullptr;
  CUdeviceptr pointer = 0;
};

} // namespace pascaline::runtime
