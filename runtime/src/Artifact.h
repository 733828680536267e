// Artifact.h - a model.pasc, read and checked.
//
// Nothing in the file is trusted: after open() every index, offset and extent
// in here has been checked, so that nobody after it checks again. What is not
// checked is the PTX: an artifact is code, and runs with the rights of code on
// the device.
//
// The plan and the PTX are copied, so that a file changed later cannot undo
// the checks; the weights stay mapped. Strings point into the copied plan.
//
// Test: test/runtime/ArtifactTest.cpp
#pragma once

#include "pascaline/artifact.h"

#include <memory>
#include <string>
#include <vector>

namespace pascaline::runtime {

struct Tensor {
  const char *name;
  artifact::ElementType type;
  uint32_t rank;
  const int64_t *shape;
  uint64_t bytes;
  uint32_t buffer;
};

struct Buffer {
  artifact::BufferKind kind;
  uint64_t offset;
  uint64_t bytes;
  // Kinds input and output: the input or output that it is bound to.
  uint32_t tensor;
  bool isBoundTo(artifact::BufferKind to, size_t index) const {
    return kind == to && tensor == index;
  }
};

struct Kernel {
  const char *entry;
  uint32_t block[3];
  uint32_t staticSharedBytes;
  uint32_t dynamicSharedBytes;
  uint32_t registers;
};

struct Argument {
  artifact::ArgumentKind kind;
  uint32_t buffer;
  uint64_t value;
};

struct Launch {
  uint32_t kernel;
  uint32_t grid[3];
  artifact::Role role;
  artifact::Limit limit;
  std::vector<Argument> arguments;
  std::vector<const char *> nodes;
  uint64_t flops;
  uint64_t bytes;
};

// What runs for one shape set.
struct Program {
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  std::vector<Buffer> buffers;
  std::vector<Launch> launches;
  std::vector<Launch> init;
  uint64_t arenaBytes;
  uint64_t counterBytes;
  uint64_t lowerBoundBytes;
  uint64_t onnxOrderBytes;
  uint64_t
      stagingBytes; // of all buffers of kind input and output, each aligned
};

// The first shape set's program, and what all share. The alternatives' inputs
// and outputs are the first's but for their shapes, and no two programs have
// the same shapes of all inputs.
struct Plan : Program {
  const char *model;
  const char *producer;
  const char *chip;
  std::vector<Kernel> kernels;
  uint64_t weightsBytes;
  std::vector<Program> alternatives;

  size_t programCount() const { return 1 + alternatives.size(); }
  const Program &program(size_t index) const {
    return index ? alternatives[index - 1] : *this;
  }
};

// kBufferAlignment and up.
inline uint64_t aligned(uint64_t bytes) {
  return (bytes + artifact::kBufferAlignment - 1) / artifact::kBufferAlignment *
         artifact::kBufferAlignment;
}

// Checks the bytes of a plan section, which must outlive the result. `name` is
// the artifact's, for errors.
Plan readPlan(const uint8_t *data, uint64_t bytes, uint64_t weightsSectionBytes,
              const std::string &name);

class Artifact {
public:
  static std::shared_ptr<const Artifact> open(const char *path);
  // The bytes are borrowed.
  static std::shared_ptr<const Artifact>
  openBytes(const void *data, uint64_t bytes, const char *name);

  Artifact() = default;
  Artifact(const Artifact &) = delete;
  Artifact &operator=(const Artifact &) = delete;
  ~Artifact();

  std::string name; // the path, or what the caller calls the bytes
  artifact::Header header;
  Plan plan;
  std::string ptx;
  const void *cubin = nullptr;
  uint64_t cubinBytes = 0;
  const void *weights = nullptr;
  uint64_t weightsBytes = 0; // of the section; the plan's may be more

private:
  void read(const uint8_t *data, uint64_t bytes);

  std::unique_ptr<uint8_t[]> planBytes;
  std::vector<uint8_t> cubinCopy;
  void *mapping = nullptr;
  uint64_t mappingBytes = 0;
};

} // namespace pascaline::runtime
