// ArtifactWriter - plan, PTX and weights to the bytes of a model.pasc.
//
// ArtifactContents is plain data: whoever lowers the plan fills it, and nothing
// here knows MLIR. The same contents always give the same bytes. The writer
// checks nothing that the runtime's reader checks (one meaning, one place); it
// only refuses what it cannot express.
//
// Test: test/runtime/ArtifactTest.cpp
#pragma once

#include "pascaline/artifact.h"

#include <string>
#include <vector>

namespace pascaline {

namespace artifact {

// A graph input or output. An input names a buffer of kind `input` of its own.
// An output names one of kind `output`, or any other buffer (a constant in the
// weights, an input passed through, something in the arena, a buffer that
// another output names too), from which the runtime then copies.
struct Tensor {
  std::string name;
  ElementType type = ElementType::none;
  std::vector<int64_t> shape;
  uint32_t buffer = 0; // index into Program::buffers
};

// A range of its kind's memory; offset is 0 for input and output. Offsets in
// the arena and the weights that kernels use with 128-bit accesses must be
// multiples of kBufferAlignment: the runtime aligns all bases to it.
struct Buffer {
  BufferKind kind = BufferKind::none;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

struct Kernel {
  std::string entry; // the name of the .entry in the PTX
  uint32_t block[3] = {1, 1, 1};
  uint32_t staticSharedBytes = 0;
  uint32_t dynamicSharedBytes = 0; // asked for at launch, beside the static
  uint32_t registers = 0;          // 0: not known
};

// One kernel parameter, in the order of the .entry's list.
struct Argument {
  ArgumentKind kind = ArgumentKind::none;
  uint32_t buffer = 0; // kind buffer: index into Program::buffers
  uint64_t value = 0;  // kind buffer: byte offset into it; else the bits

  static Argument ofBuffer(uint32_t buffer, uint64_t byteOffset = 0) {
    return {ArgumentKind::buffer, buffer, byteOffset};
  }
  static Argument ofScalar32(uint32_t bits) {
    return {ArgumentKind::scalar32, 0, bits};
  }
  static Argument ofScalar64(uint64_t bits) {
    return {ArgumentKind::scalar64, 0, bits};
  }
};

struct Launch {
  uint32_t kernel = 0; // index into ArtifactContents::kernels
  uint32_t grid[3] = {1, 1, 1};
  std::vector<Argument> arguments;
  std::vector<std::string> nodes; // names of the ONNX nodes it computes
  uint64_t flops = 0;
  uint64_t bytes = 0; // of global memory, read and written, at least
  Role role = Role::primary;
  Limit limit = Limit::unknown;
};

// What runs for one shape set.
struct Program {
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  std::vector<Buffer> buffers;
  std::vector<Launch> launches;
  // Run once when the model is loaded. They write weights (past the end of
  // `weights`, usually); arena and counters are theirs as scratch memory.
  std::vector<Launch> init;
  uint64_t arenaBytes = 0;
  uint64_t counterBytes = 0;
  uint64_t lowerBoundBytes = 0;
  uint64_t onnxOrderBytes = 0;
};

} // namespace artifact

// The first shape set's program, and what all share.
struct ArtifactContents : artifact::Program {
  std::string model;    // a name for people: the ONNX graph's, or the file's
  std::string producer; // "pascaline 0.1.0"
  std::string chip;     // the --chip it was tuned for
  // Of the second shape set and on: the same inputs and outputs in the same
  // order, in other shapes.
  std::vector<artifact::Program> alternatives;
  std::vector<artifact::Kernel> kernels;
  // On the device: `weights`, then zeros (for init's results) up to this.
  uint64_t weightsBytes = 0;
  std::string ptx;   // one module with every kernel; no NUL inside
  std::string cubin; // empty: none
  // The weights section, as uploaded to offset 0 of the weights. Borrowed:
  // it may be gigabytes, and it must outlive the write.
  const void *weights = nullptr;
  uint64_t weightsSectionBytes = 0;
};

// The whole file in memory. False with one sentence in `error` if it cannot be
// said in the format.
bool serializeArtifact(const ArtifactContents &contents, std::string &bytes,
                       std::string &error);

// Writes it as OutputFile.h says: as a whole or not at all.
bool writeArtifact(const ArtifactContents &contents, const std::string &path,
                   std::string &error);

} // namespace pascaline
