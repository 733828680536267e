// Device.cpp - the devices: what a GTX 1080 Ti says of itself, once or often.
#include "runtime/emulator/driver/Counters.h"
#include "runtime/emulator/driver/Injection.h"
#include "runtime/emulator/driver/Objects.h"

#include <cstdlib>
#include <cstring>

using namespace pascaline::emulator;

namespace {

// CUDA 12.8, the API level whose documentation the emulator follows.
constexpr int kDriverVersion = 12080;
constexpr char kName[] = "Pascaline emulator (sm_61)";

struct Attribute {
  int id;
  int value;
};

// By the documented numbers of CUdevice_attribute. Those of cuda_driver.h go by
// their names there, the others are for other programs.
constexpr Attribute kAttributes[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kMaxThreadsPerBlock},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, kMaxSharedBytesPerBlock},
    {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {11, 2147483647}, // max pitch
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1582000},
    {14, 512}, // texture alignment
    {15, 1},   // copies overlap kernels
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 28},
    {31, 1}, // concurrent kernels
    {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 5505000},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 352},
    {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 2883584},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
    {40, 2}, // copy engines
    {41, 1}, // unified addressing: device addresses are host addresses
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 6},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 1},
    {79, 1}, // global loads may be cached in L1
    {80, 1}, // local ones too
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 98304},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
    {87, 32},                      // float to double rate
    {97, kMaxSharedBytesPerBlock}, // opt-in shared memory
};
// What lies between is documented and 0 here: not supported, or not modelled.
constexpr int kLastAttribute = 148;

} // namespace

int pascaline::emulator::deviceCount() {
  static const int count = [] {
    const char *text = std::getenv("PASCALINE_EMULATOR_DEVICES");
    return text && *text ? std::atoi(text) : 1; // cuInit has checked it
  }();
  return count;
}

// A setting that makes no sense must not be taken for another: "8GiB" is not
// the default's 11, nor "10 min" no timeout at all. A sentence, or nothing.
static std::string settingProblem() {
  struct Setting {
    const char *name;
    double least, most;
    bool whole;
  };
  const Setting settings[] = {
      {"THREADS", 1, double(kMaxWorkers), true},
      {"MEMORY", 1, double(DeviceMemory::mostBytes()), true},
      {"DEVICES", 1, double(kMaxDevices), true},
      {"TIMEOUT", 0, 999999, false},
      {"CACHE_SIZE", 1, 1e18, true},
  };
  for (const Setting &setting : settings) {
    std::string name = std::string("PASCALINE_EMULATOR_") + setting.name;
    const char *text = std::getenv(name.c_str());
    if (!text || !*text)
      continue;
    char *end = nullptr;
    double value = std::strtod(text, &end);
    if (*end || !(value >= setting.least && value <= setting.most) ||
        text[std::strspn(text, setting.whole ? "0123456789" : "0123456789.")])
      return name + " is not a number from " +
             std::to_string(uint64_t(setting.least)) + " to " +
             std::to_string(uint64_t(setting.most));
  }
  return "";
}

CUresult cuInit(unsigned flags) {
  if (flags)
    return invalidValue("cuInit takes no flags");
  if (const char *problem = injectionProblem())
    return invalidValue(problem);
  if (std::string problem = settingProblem(); !problem.empty())
    return invalidValue(problem);
  if (const char *problem = counterFileProblem())
    return invalidValue(problem);
  if (CUresult result = injectedFailure(__func__))
    return result;
  if (!DeviceMemory::get().available())
    return fail(CUDA_ERROR_OPERATING_SYSTEM,
                "the emulator could not reserve 1 TiB of address space; is it "
                "limited (ulimit -v)?");
  Driver::get().initialized = true;
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version) {
  if (!version)
    return invalidValue("version is null");
  *version = kDriverVersion;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count) {
  if (CUresult result = checkDevice(0))
    return result;
  if (!count)
    return invalidValue("count is null");
  *count = deviceCount();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  if (CUresult result = checkDevice(ordinal))
    return result;
  if (!device)
    return invalidValue("device is null");
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
  if (CUresult result = checkDevice(device))
    return result;
  if (!name || length <= 0)
    return invalidValue("there is no room for the device's name");
  size_t count = std::min<size_t>(length - 1, sizeof kName - 1);
  std::memcpy(name, kName, count);
  name[count] = '\0';
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device) {
  if (CUresult result = checkDevice(device))
    return result;
  if (!uuid)
    return invalidValue("uuid is null");
  std::memcpy(uuid->bytes, "pascaline-emu-61", sizeof uuid->bytes);
  uuid->bytes[13] = char('-' + device); // the same as ever for device 0
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                              CUdevice device) {
  if (CUresult result = checkDevice(device))
    return result;
  if (!value || attribute < 1 || attribute > kLastAttribute)
    return invalidValue("device attribute " + std::to_string(attribute) +
                        " is not known");
  *value = 0;
  for (const Attribute &entry : kAttributes)
    if (entry.id == attribute)
      *value = entry.value;
  return CUDA_SUCCESS;
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device) {
  if (CUresult result = checkDevice(device))
    return result;
  if (!major || !minor)
    return invalidValue("major or minor is null");
  *major = 6, *minor = 1;
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
  if (CUresult result = checkDevice(device))
    return result;
  if (!bytes)
    return invalidValue("bytes is null");
  *bytes = DeviceMemory::get().totalBytes();
  return CUDA_SUCCESS;
}
