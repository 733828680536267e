// Where results of the compiler go: whole files, and devices that stay devices.
#include "compiler/artifact/OutputFile.h"
#include "test/runtime/Samples.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <sys/stat.h>
#include <unistd.h>

using namespace pascaline;
using namespace pascaline::testing;

namespace {

TEST(OutputFile, ReplacesAFile) {
  TemporaryFile file("something older and longer");
  std::string error;
  ASSERT_TRUE(writeOutputFile(file.path, {"one ", "two"}, error)) << error;
  std::ifstream stream(file.path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), "one two");
}

// A rename to /dev/null would take the device away from the whole machine.
TEST(OutputFile, LeavesAPipeInItsPlace) {
  TemporaryFile file("");
  ASSERT_EQ(unlink(file.path.c_str()), 0);
  ASSERT_EQ(mkfifo(file.path.c_str(), 0600), 0);
  int reader = open(file.path.c_str(), O_RDONLY | O_NONBLOCK);
  std::string error, got(100, ' ');
  EXPECT_TRUE(writeOutputFile(file.path, {"one ", "two"}, error)) << error;
  EXPECT_EQ(read(reader, got.data(), got.size()), 7);
  EXPECT_EQ(got.substr(0, 7), "one two");
  close(reader);
  struct stat status;
  ASSERT_EQ(stat(file.path.c_str(), &status), 0);
  EXPECT_TRUE(S_ISFIFO(status.st_mode));
}

TEST(OutputFile, SaysWhatIsWrong) {
  std::string error;
  EXPECT_FALSE(writeOutputFile("/no/such/folder/x", {"x"}, error));
  EXPECT_EQ(error, "/no/such/folder/x: cannot be created: No such file or "
                   "directory");
  EXPECT_FALSE(writeOutputFile("/dev", {"x"}, error));
  EXPECT_EQ(error, "/dev: cannot be written: Is a directory");
  EXPECT_FALSE(writeOutputFile("/dev/full", {"x"}, error));
  EXPECT_EQ(error, "/dev/full: cannot be written: No space left on device");
}

} // namespace
