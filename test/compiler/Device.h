// Device - runs PTX on the emulator through the driver API, for tests.
#pragma once

#include "runtime/driver/cuda_driver.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace pascaline::test {

/// The emulator's driver API. Loaded once from the path that CMake gives, or
/// from $PASCALINE_EMULATOR.
class Device {
public:
  static Device &get();

  /// A buffer of floats on the device, freed with the device.
  CUdeviceptr upload(const std::vector<float> &values);
  CUdeviceptr allocate(size_t bytes, unsigned char fill);
  std::vector<float> download(CUdeviceptr pointer, size_t count);
  CUdeviceptr uploadBytes(const std::vector<char> &bytes);
  void downloadBytes(CUdeviceptr pointer, std::vector<char> &bytes);
  void free(CUdeviceptr pointer);

  /// Compiles and runs one kernel whose parameters are all pointers; empty, or
  /// what went wrong.
  std::string run(const std::string &ptx, const std::string &entry,
                  std::array<int64_t, 3> grid, int64_t threads,
                  std::vector<CUdeviceptr> pointers, int launches = 1);

private:
  Device();
#define MEMBER(name, symbol, parameters) CUresult(*name) parameters = nullptr;
  PASCALINE_CUDA_FUNCTIONS(MEMBER)
#undef MEMBER
};

} // namespace pascaline::test
