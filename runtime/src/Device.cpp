// Device.cpp - see Device.h.
#include "runtime/src/Device.h"

#include "pascaline/artifact.h"
#include "runtime/src/Error.h"

#include <cstdlib>
#include <cstring>

namespace pascaline::runtime {

using std::shared_ptr;

namespace {

constexpr int kLeastCapability = 61;
const char *const kGpuLibrary = "libcuda.so.1";

using Options = pascaline_device_options;

shared_ptr<Device> openEmulator(const Options &options) {
  return std::make_shared<Device>(Driver::load(emulatorPath()), 0, true,
                                  options);
}

void requireUsable(const Device &device, int ordinal) {
  if (device.major * 10 + device.minor < kLeastCapability)
    fail(PASCALINE_NO_DEVICE,
         "gpu %d, %s, has compute capability %d.%d, too old for sm_%d code",
         ordinal, device.name.c_str(), device.major, device.minor,
         kLeastCapability);
}

int deviceCount(const Driver &driver) {
  int count = 0;
  CUresult result = driver.call.deviceGetCount(&count);
  if (result != CUDA_SUCCESS)
    fail(PASCALINE_NO_DEVICE, "%s: counting devices gives %s", kGpuLibrary,
         driver.errorText(result).c_str());
  if (count <= 0)
    fail(PASCALINE_NO_DEVICE, "%s: the driver has no device", kGpuLibrary);
  return count;
}

shared_ptr<Device> openGpu(int ordinal, const Options &options) {
  auto driver = Driver::load(kGpuLibrary);
  int count = deviceCount(*driver);
  if (ordinal >= count)
    fail(PASCALINE_NO_DEVICE, "gpu %d: there are %d, counted from 0", ordinal,
         count);
  auto device = std::make_shared<Device>(driver, ordinal, false, options);
  requireUsable(*device, ordinal);
  return device;
}

shared_ptr<Device> openFirstGpu(const Options &options) {
  auto driver = Driver::load(kGpuLibrary);
  int count = deviceCount(*driver);
  std::string problems;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    try {
      auto device = std::make_shared<Device>(driver, ordinal, false, options);
      requireUsable(*device, ordinal);
      return device;
    } catch (const Error &error) {
      problems += (problems.empty() ? "" : "; ") + std::string(error.what());
    }
  }
  fail(PASCALINE_NO_DEVICE, "%s", problems.c_str());
}

shared_ptr<Device> openAny(const Options &options) {
  std::string noGpu;
  try {
    return openFirstGpu(options);
  } catch (const Error &error) {
    noGpu = error.what();
  }
  try {
    auto device = openEmulator(options);
    device->reason = "the emulator, because no GPU can be used: " + noGpu;
    return device;
  } catch (const Error &error) {
    fail(PASCALINE_NO_DEVICE,
         "no device: neither a GPU (%s) nor the emulator (%s); set "
         "PASCALINE_EMULATOR to libpascaline-emulator.so",
         noGpu.c_str(), error.what());
  }
}

} // namespace

shared_ptr<const Device> Device::open(const std::string &selector,
                                      const Options &options) {
  shared_ptr<Device> device;
  if (selector == "auto") {
    device = openAny(options);
  } else if (selector == "emulator") {
    device = openEmulator(options);
  } else if (selector == "gpu") {
    device = openFirstGpu(options);
  } else {
    char *end = nullptr;
    bool numbered = selector.size() > 4 && selector.size() < 8 &&
                    selector.compare(0, 4, "gpu:") == 0 &&
                    strspn(&selector[4], "0123456789") == selector.size() - 4;
    if (!numbered)
      fail(PASCALINE_INVALID_ARGUMENT,
           "device \"%s\" is none of auto, gpu, gpu:N, emulator",
           selector.c_str());
    device = openGpu(int(strtol(&selector[4], &end, 10)), options);
  }
  device->log("device: " + device->reason);
  return device;
}

int Device::gpuCount() { return deviceCount(*Driver::load(kGpuLibrary)); }

Device::Device(shared_ptr<const Driver> from, int ordinal, bool emulator,
               const Options &options)
    : driver(std::move(from)), emulator(emulator), options(options) {
  name = emulator ? "emulator" : format("gpu %d", ordinal);
  check(call().deviceGet(&handle, ordinal), "finding it");
  char text[256] = "";
  check(call().deviceGetName(text, sizeof text, handle), "reading its name");
  text[sizeof text - 1] = '\0';
  major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  check(call().driverGetVersion(&driverVersion),
        "reading its driver's version");
  reason = emulator ? "the emulator"
                    : format("gpu %d, %s (compute capability %d.%d)", ordinal,
                             text, major, minor);
  if (options.counting && !driver->setCounting)
    fail(PASCALINE_UNSUPPORTED,
         "counters are the emulator's, the device is %s; open the emulator",
         reason.c_str());
  std::string itsName = text;
  check(call().devicePrimaryCtxRetain(&context, handle),
        "opening its primary context");
  // Nothing may throw from here on: the destructor would not run.
  name.swap(itsName);
}

Device::~Device() {
  // A constructor that throws never gets here, and has retained nothing.
  call().devicePrimaryCtxRelease(handle);
}

void Device::failed(CUresult result, const std::string &doing) const {
  fail(result == CUDA_ERROR_OUT_OF_MEMORY ? PASCALINE_OUT_OF_DEVICE_MEMORY
                                          : PASCALINE_DRIVER_ERROR,
       "device %s: %s gives %s", name.c_str(), doing.c_str(),
       driver->errorText(result).c_str());
}

int Device::attribute(CUdevice_attribute attribute) const {
  int value = 0;
  check(call().deviceGetAttribute(&value, attribute, handle),
        "reading an attribute");
  return value;
}

void Device::log(const std::string &message) const {
  if (options.log)
    options.log(options.log_user, message.c_str());
}

void Device::memory(uint64_t &free, uint64_t &total) const {
  size_t freeBytes = 0, totalBytes = 0;
  check(call().memGetInfo(&freeBytes, &totalBytes), "asking for free memory");
  free = freeBytes;
  total = totalBytes;
}

DeviceMemory::DeviceMemory(const Device &on, uint64_t bytes, const char *what) {
  if (bytes == 0)
    return;
  uint64_t free, total;
  on.memory(free, total);
  CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
  std::string refusal;
  if (bytes <= free) {
    result = on.call().memAlloc(&pointer, bytes);
    // It may lie in pieces.
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
      refusal = ", but allocating gives " + on.driver->errorText(result);
  }
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    fail(PASCALINE_OUT_OF_DEVICE_MEMORY,
         "%s needs %s on the device, %s has %s free of %s%s", what,
         sizeText(bytes).c_str(), on.name.c_str(), sizeText(free).c_str(),
         sizeText(total).c_str(), refusal.c_str());
  on.check(result, "allocating memory");
  device = &on;
  if (pointer % artifact::kBufferAlignment != 0) {
    CUdeviceptr unusable = pointer;
    on.call().memFree(pointer);
    pointer = 0;
    device = nullptr;
    fail(PASCALINE_DRIVER_ERROR,
         "device %s: memory at %#llx is not aligned to %u bytes",
         on.name.c_str(), unusable, unsigned(artifact::kBufferAlignment));
  }
}

DeviceMemory::~DeviceMemory() {
  if (!pointer)
    return;
  ContextScope scope(*device, ContextScope::quiet);
  device->call().memFree(pointer);
}

} // namespace pascaline::runtime
