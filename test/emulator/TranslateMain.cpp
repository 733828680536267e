#include "ObjectCacheTest.h"

#include <cstdlib>
#include <filesystem>

std::string cacheFolder;

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  std::string folder = testing::TempDir() + "pascaline-cache-XXXXXX";
  if (!mkdtemp(folder.data()))
    return 1;
  cacheFolder = folder + "/of/user"; // to be made by the emulator
  setenv("PASCALINE_EMULATOR_CACHE", cacheFolder.c_str(), 1);
  int result = RUN_ALL_TESTS();
  std::filesystem::remove_all(folder);
  return result;
}
