#include "DriverTest.h"

#include <cstdlib>

int main(int argc, char **argv) {
  setenv("PASCALINE_EMULATOR_THREADS", "2", 0);
  setenv("PASCALINE_EMULATOR_CACHE", "off", 1);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
