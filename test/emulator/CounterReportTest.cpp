// Who counts, what a launch's counters are after a failure, and the file that
// PASCALINE_EMULATOR_COUNTERS names: the same in every run, for any number of
// workers.
#include "CounterTest.h"

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace {

class CounterReport : public CounterTest {};

const uint64_t *valuesNow() {
  const uint64_t *values = nullptr;
  pascalineEmulatorCounters(nullptr, &values);
  return values;
}

TEST_F(CounterReport, PlainKernelsHaveNone) {
  count("");
  EXPECT_TRUE(valuesNow());
  pascalineEmulatorSetCounting(0);
  EXPECT_DONE(launch(kernel(""), 1, 1, {&buffer}));
  EXPECT_FALSE(valuesNow());
}

TEST_F(CounterReport, FoundByProcAddress) {
  void *function = nullptr;
  EXPECT_DONE(cuGetProcAddress_v2("pascalineEmulatorCounters", &function, 12080,
                                  0, nullptr));
  EXPECT_EQ(function, reinterpret_cast<void *>(&pascalineEmulatorCounters));
}

// Launches of a graph count too: the last one's counters are there.
TEST_F(CounterReport, GraphsCount) {
  CUfunction k = kernel("add.f32 %f1, %f1, %f2;\n");
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  ASSERT_DONE(cuStreamCreate(&stream, 0));
  ASSERT_DONE(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_DONE(launch(k, 5, 32, {&buffer}, 0, stream));
  EXPECT_DONE(cuStreamEndCapture(stream, &graph));
  EXPECT_DONE(cuGraphInstantiateWithFlags(&executable, graph, 0));
  EXPECT_DONE(cuGraphLaunch(executable, stream));
  EXPECT_EQ(last()["warp_fp32_add"], 5u);
  EXPECT_DONE(cuGraphExecDestroy(executable));
  EXPECT_DONE(cuGraphDestroy(graph));
  EXPECT_DONE(cuStreamDestroy_v2(stream));
}

// A block in which each block, warp and lane does something else: trip counts,
// scattered addresses, bank conflicts.
const char kUneven[] =
    "mov.u32 %r1, %ctaid.x;\nmad.lo.u32 %r2, %r1, 7, %r0;\n"
    "and.b32 %r2, %r2, 63;\nmov.u32 %r3, 0;\nLOOP:\n"
    "mul.lo.u32 %r4, %r2, %r3;\nand.b32 %r4, %r4, 1023;\n"
    "mul.wide.u32 %rd1, %r4, 4;\nadd.u64 %rd1, %rd1, %rd0;\n"
    "ld.global.u32 %r5, [%rd1];\nshl.b32 %r6, %r4, 2;\n"
    "mov.u32 %r7, window;\nadd.u32 %r6, %r6, %r7;\n"
    "st.shared.u32 [%r6], %r5;\nadd.u32 %r3, %r3, 1;\n"
    "setp.lt.u32 %p1, %r3, %r2;\n@%p1 bra LOOP;\nbar.sync 0;\n"
    "red.global.add.u32 [%rd0+8192], 1;\n";

// Not a test of its own: what the child processes below run.
TEST_F(CounterReport, DISABLED_Child) {
  CUfunction uneven = kernel(kUneven, ".shared .align 4 .b8 window[4096];\n");
  CUfunction other = kernel("");
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_DONE(launch(uneven, 200, 96, {&buffer}));
    EXPECT_DONE(launch(uneven, 10 + i, 33, {&buffer}));
    EXPECT_DONE(launch(other, 1, 1, {&buffer}));
  }
}

std::string reportOf(const char *workers, int *status) {
  std::string path = testing::TempDir() + "pascaline-counters-" +
                     std::to_string(getpid()) + ".json";
  std::string command =
      std::string("PASCALINE_EMULATOR_THREADS=") + workers +
      " PASCALINE_EMULATOR_COUNTERS=" + path + " /proc/" +
      std::to_string(getpid()) +
      "/exe --gtest_also_run_disabled_tests --gtest_filter=*Child >/dev/null";
  *status = std::system(command.c_str());
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  std::remove(path.c_str());
  return text.str();
}

TEST_F(CounterReport, SameBytesForAnyNumberOfWorkers) {
  int status = 1;
  std::string one = reportOf("1", &status);
  ASSERT_EQ(status, 0);
  EXPECT_NE(
      one.find("{\"name\": \"k\", \"grid\": [200, 1, 1], \"block\": [96, 1, "
               "1], \"dynamic_shared_bytes\": 0, \"counters\": "
               "{\"launches\": 3, \"blocks\": 600, "),
      std::string::npos)
      << one.substr(0, 500);
  for (const char *workers : {"2", "5", "2"}) {
    EXPECT_EQ(one, reportOf(workers, &status));
    EXPECT_EQ(status, 0);
  }
}

TEST_F(CounterReport, RefusesAPathThatCannotBeWritten) {
  std::string command =
      "PASCALINE_EMULATOR_COUNTERS=/nowhere/at/all.json /proc/" +
      std::to_string(getpid()) +
      "/exe --gtest_also_run_disabled_tests --gtest_filter=*Child 2>&1";
  std::FILE *output = popen(command.c_str(), "r");
  ASSERT_TRUE(output);
  std::string text;
  char part[256];
  while (std::fgets(part, sizeof part, output))
    text += part;
  EXPECT_NE(pclose(output), 0);
  EXPECT_NE(
      text.find("PASCALINE_EMULATOR_COUNTERS: /nowhere/at/all.json cannot "
                "be written: No such file or directory"),
      std::string::npos)
      << text;
}

// A rename to /dev/null would take the device away from the whole machine.
TEST_F(CounterReport, LeavesAPipeInItsPlace) {
  std::string path = testing::TempDir() + "pascaline-counters-" +
                     std::to_string(getpid()) + ".fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  std::string command =
      "PASCALINE_EMULATOR_COUNTERS=" + path + " /proc/" +
      std::to_string(getpid()) +
      "/exe --gtest_also_run_disabled_tests --gtest_filter=*Child >/dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0);
  char got[13] = "";
  EXPECT_EQ(read(reader, got, 12), 12);
  EXPECT_EQ(std::string(got), "{\"kernels\": ");
  close(reader);
  struct stat status;
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_TRUE(S_ISFIFO(status.st_mode));
  std::remove(path.c_str());
}

} // namespace
