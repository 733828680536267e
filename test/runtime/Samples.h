// Samples.h - artifacts made by hand for the runtime's tests.
#pragma once

#include "compiler/artifact/ArtifactWriter.h"

#include <string>

namespace pascaline::testing {

// y[i] = a[i] + b[i] + w[i] for `count` floats, by two launches of one
// kernel of hand-written PTX: t = a + b in the arena, y = t + w. w[i] = i.
// Two buffers of counters and a second output, which is the constant w.
struct AddSample {
  explicit AddSample(uint32_t count = 300);
  std::vector<float> weights;
  ArtifactContents contents;

  std::string bytes() const;
};

// An ELF file of nothing but its header and one empty section: what a cubin
// looks like to the reader. With a zero byte, as text, near its start.
std::string tinyElf();

// Fixes all checksums of an artifact that was changed.
void rehash(std::string &bytes);

// A file that goes with its object.
class TemporaryFile {
public:
  explicit TemporaryFile(const std::string &content = {});
  TemporaryFile(const TemporaryFile &) = delete;
  ~TemporaryFile();
  std::string path;
};

} // namespace pascaline::testing
