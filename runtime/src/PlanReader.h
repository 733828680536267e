// PlanReader.h - what the readers of a plan's parts share: refusing in one
// form, and limits that count over the whole plan.
//
// Internal to Plan.cpp and Program.cpp.
#pragma once

#include "runtime/src/Artifact.h"
#include "runtime/src/Error.h"

#include "pascaline/artifact_generated.h"

#include <cstring>

namespace pascaline::runtime {

using Number = unsigned long long; // for printf

template <class T> size_t sizeOf(const flatbuffers::Vector<T> *vector) {
  return vector ? vector->size() : 0;
}

class PlanReader {
public:
  explicit PlanReader(const std::string &name) : name(name) {}

  [[noreturn]] void wrong(const std::string &what) const {
    fail(PASCALINE_INVALID_ARTIFACT, "%s: %s; compile the model again",
         name.c_str(), what.c_str());
  }

  void limit(uint64_t count, uint64_t most, const char *what) const {
    if (count > most)
      wrong(format("the plan has %llu %s, more than %llu", (Number)count, what,
                   (Number)most));
  }

  // FlatBuffers' verifier looks at where a vector starts, not at its elements.
  // An empty one (a scalar's shape) ends where it likes.
  template <class T> void requireAligned(const T &vector) const {
    if (vector.size() > 0 &&
        reinterpret_cast<uintptr_t>(vector.Data()) % sizeof(uint64_t) != 0)
      wrong("the plan has 64-bit numbers at odd addresses");
  }

  const char *text(const flatbuffers::String *string, const char *what) const {
    if (string->size() > artifact::kMaxNameBytes)
      wrong(format("%s has %u bytes, more than %u", what, string->size(),
                   artifact::kMaxNameBytes));
    if (memchr(string->Data(), 0, string->size()))
      wrong(format("%s has a zero byte inside", what));
    return string->c_str();
  }

  // Launches may share vectors, so the file's size bounds none of these.
  void countArguments(uint64_t count) {
    limit(count, artifact::kMaxArguments, "arguments of a launch");
    limit(argumentCount += count, artifact::kMaxNodes, "arguments");
  }
  void countNodes(uint64_t count) {
    limit(nodeCount += count, artifact::kMaxNodes, "node names");
  }
  void countBuffers(uint64_t count) {
    limit(bufferCount += count, artifact::kMaxBuffers, "buffers");
  }
  void countLaunches(uint64_t count) {
    limit(launchCount += count, artifact::kMaxLaunches, "launches");
  }

  const std::string &name;

private:
  uint64_t argumentCount = 0, nodeCount = 0, bufferCount = 0, launchCount = 0;
};

// The vectors of a Plan or of one of its alternatives.
struct ProgramSource {
  template <class T> using Table = flatbuffers::Vector<flatbuffers::Offset<T>>;
  const Table<artifact::fb::Tensor> &inputs, &outputs;
  const flatbuffers::Vector<const artifact::fb::Buffer *> &buffers;
  const Table<artifact::fb::Launch> &launches;
  const Table<artifact::fb::Launch> *init; // may be null
};

// Fills all of `program` but its three sizes, which are set. `plan` has its
// kernels and the bytes of its weights.
void readProgram(const ProgramSource &from, PlanReader &reader,
                 const Plan &plan, Program &program);

} // namespace pascaline::runtime
