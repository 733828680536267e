#include "DriverTest.h"

#include <cstdlib>

int main(int argc, char **argv) {
  setenv("PASCALINE_EMULATOR_THREADS", "2", 1);
  setenv("PASCALINE_EMULATOR_SANITIZE", "1", 0);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
