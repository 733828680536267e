// Sets what the scheduler reads from the environment, once, before any test:
// several workers even on one core, and a device that can run out of memory.
#include <cstdlib>
#include <gtest/gtest.h>

int main(int argc, char **argv) {
  setenv("PASCALINE_EMULATOR_THREADS", "3", 1);
  setenv("PASCALINE_EMULATOR_MEMORY", "67108864", 1); // 64 MiB
  setenv("PASCALINE_EMULATOR_TIMEOUT", "3", 1);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
