// Model.h - an artifact's code and weights on one device. Immutable once it is
// open, and so shared by sessions of any threads.
//
// Test: test/runtime/RunTest.cpp
#pragma once

#include "runtime/src/Artifact.h"
#include "runtime/src/Device.h"

#include <memory>
#include <vector>

namespace pascaline::runtime {

// What the arguments of launches are relative to.
struct Bases {
  CUdeviceptr arena = 0;
  CUdeviceptr weights = 0;
  CUdeviceptr counters = 0;
  const CUdeviceptr *inputs = nullptr;
  const CUdeviceptr *outputs = nullptr;
};

// A launch's parameters in the form that the driver wants. The driver reads as
// many and as large ones as the kernel in the PTX declares, which a hostile
// artifact need not agree on with its plan; so behind the last parameter, and
// behind each one's bytes, there is room for all that a kernel can declare.
class ParameterBlock {
public:
  ParameterBlock();
  void set(size_t index, uint64_t value) { values[index] = value; }
  void **pointers() { return table.data(); }

private:
  static constexpr size_t kMostParameterBytes = 32768;
  std::vector<uint64_t> values;
  std::vector<void *> table;
};

class Model {
public:
  Model(std::shared_ptr<const Artifact> artifact,
        std::shared_ptr<const Device> device);
  Model(const Model &) = delete;
  Model &operator=(const Model &) = delete;
  ~Model();

  // A launch of `program`, in the current context, on `stream`. `what` and
  // `index` are for errors.
  void launch(const Program &program, const Launch &launch, const Bases &bases,
              ParameterBlock &parameters, CUstream stream, const char *what,
              size_t index) const;

  CUdeviceptr weightsAddress() const { return weights.address(); }
  const Plan &plan() const { return artifact->plan; }

  const std::shared_ptr<const Device> device;
  const std::shared_ptr<const Artifact> artifact;

private:
  void loadModule();
  CUresult loadImage(const void *image, std::string &log);
  void loadWeights();
  void prepareWeights(const Program &program, CUstream stream);

  CUmodule module = nullptr;
  std::vector<CUfunction> functions; // one a kernel
  DeviceMemory weights;
};

// The address of a buffer.
CUdeviceptr addressOf(const Buffer &buffer, const Bases &bases);

} // namespace pascaline::runtime
