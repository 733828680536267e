// NpyFuzzer.cpp - any bytes as a .npy file.
#include "tools/pascaline/Cli.h"
#include "tools/pascaline/Npy.h"

#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

static uint64_t accepted = 0;

extern "C" uint64_t fuzzAccepted() { return accepted; }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const int file = memfd_create("fuzz.npy", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (ftruncate(file, 0) || pwrite(file, data, size, 0) != ssize_t(size)) {
    perror("npy fuzzer: cannot write");
    abort();
  }
  try {
    pascaline::cli::NpyArray array = pascaline::cli::readNpy(path);
    uint64_t bytes = pascaline_element_type_bytes(array.type);
    for (int64_t extent : array.shape)
      bytes *= uint64_t(extent);
    if (bytes != array.data.size()) {
      fprintf(stderr, "npy fuzzer: shape and data differ\n");
      abort();
    }
    ++accepted;
  } catch (const pascaline::cli::Failure &) {
  }
  return 0;
}
