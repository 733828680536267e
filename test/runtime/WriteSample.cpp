// WriteSample.cpp - the artifact of Samples.h as a file, for test scripts.
#include "test/runtime/Samples.h"

#include <cstdio>

int main(int argc, char **argv) {
  pascaline::testing::AddSample sample;
  std::string error = "usage: runtime-write-sample OUT.pasc";
  if (argc == 2 && pascaline::writeArtifact(sample.contents, argv[1], error))
    return 0;
  fprintf(stderr, "runtime-write-sample: %s\n", error.c_str());
  return 1;
}
