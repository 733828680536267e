#include "DriverTest.h"

#include <cstdlib>

CUresult resultBeforeInit;

int main(int argc, char **argv) {
  setenv("PASCALINE_EMULATOR_THREADS", "2", 1);
  setenv("PASCALINE_EMULATOR_MEMORY", "268435456", 1); // 256 MiB
  setenv("PASCALINE_EMULATOR_CACHE", "off", 1);
  resultBeforeInit = cuCtxSynchronize();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
