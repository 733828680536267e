// From an artifact to an answer: hand-written PTX on the emulator, through the
// program and through the C API.
#include "pascaline/pascaline.h"
#include "test/runtime/Tool.h"
#include "tools/pascaline/Npy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace pascaline;
using namespace pascaline::testing;

namespace {

struct Emulator : ToolTest {
  const std::string inputs = "--input a=a.npy --input b=b.npy ";

  std::vector<float> floatsOf(const std::string &name) {
    cli::NpyArray array = cli::readNpy((folder / name).string());
    EXPECT_EQ(array.type, PASCALINE_F32);
    std::vector<float> result(array.data.size() / 4);
    memcpy(result.data(), array.data.data(), array.data.size());
    return result;
  }
};

TEST_F(Emulator, GivesTheSum) {
  ToolResult result =
      run("run add.pasc --device emulator --output-dir out/deep " + inputs);
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  std::vector<float> y = floatsOf("out/deep/y.npy");
  ASSERT_EQ(y.size(), 300u);
  for (int i = 0; i < 300; ++i)
    ASSERT_EQ(y[i], 5 + i);
  EXPECT_EQ(floatsOf("out/deep/constant.npy")[299], 299);
}

TEST_F(Emulator, CountsARun) {
  ToolResult result =
      run("run add.pasc --device emulator --output-dir out --counters --json "
          "c.json " +
          inputs);
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(floatsOf("out/y.npy")[7], 12);
  EXPECT_NE(result.out.find(" add: "), std::string::npos) << result.out;
  std::ifstream file(folder / "c.json");
  std::string json((std::istreambuf_iterator<char>(file)), {});
  for (const char *part :
       {"\"kind\": \"counted\"",
        "\"launches\": 1, \"blocks\": ", "\"thread_fp32_add\": 300, ",
        "\"global_load_bytes\": 2400, ", "\"global_store_bytes\": 1200, "})
    EXPECT_NE(json.find(part), std::string::npos) << part << json;
}

TEST_F(Emulator, WritesOddOutputNamesByNumber) {
  sample.contents.outputs[0].name = "../y";
  write("add.pasc", sample.bytes());
  ToolResult result =
      run("run add.pasc --device emulator --output-dir out " + inputs);
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(floatsOf("out/output_0.npy")[1], 6);
}

TEST_F(Emulator, SplitsAtTheLastEqualsSign) {
  sample.contents.inputs[0].name = "a=b=c";
  write("add.pasc", sample.bytes());
  EXPECT_EQ(run("run add.pasc --device emulator --output-dir out "
                "--input a=b=c=a.npy --input b=b.npy")
                .code,
            0);
}

TEST_F(Emulator, IsTakenByAutoWithTheReason) {
  ToolResult result = run("run add.pasc --output-dir out " + inputs);
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err.find("pascaline: running on "), 0u) << result.err;
}

// Without the first launch the second reads what nobody wrote: kernel, node,
// line, block and thread are named, and only where accesses are checked.
TEST_F(Emulator, SanitizesAndNamesWhereAndForWhom) {
  sample.contents.launches.erase(sample.contents.launches.begin());
  write("add.pasc", sample.bytes());
  std::string command = "run add.pasc --device emulator --output-dir out ";
  EXPECT_EQ(run(command + inputs).code, 0);
  ToolResult result = run(command + inputs + " --sanitize");
  EXPECT_EQ(result.code, 1);
  for (const char *part :
       {"launch 0 of model add", "kernel add for node second",
        "block (0,0,0), thread (0,0,0): line 32 reads 4 bytes of device memory "
        "that nobody has written"})
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
}

TEST_F(Emulator, FailsWithOneSentenceAndWritesNothing) {
  auto refused = [&](const char *sentence) {
    write("add.pasc", sample.bytes());
    ToolResult result =
        run("run add.pasc --device emulator --output-dir out " + inputs);
    EXPECT_EQ(result.code, 1);
    EXPECT_NE(result.err.find(sentence), std::string::npos) << result.err;
    EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << result.err;
    EXPECT_FALSE(std::filesystem::exists(folder / "out"));
  };
  ArtifactContents good = sample.contents;
  sample.contents.ptx = "this is no PTX";
  refused("loading the PTX of add.pasc");
  sample.contents = good;
  sample.contents.kernels[0].entry = "sub";
  refused("finding kernel sub in the PTX of add.pasc");
  sample.contents = good;
  sample.contents.kernels[0].block[0] = 256;
  refused("kernel add is launched with 256 threads a block, its PTX allows "
          "128");
  // Fewer arguments than the PTX declares: the rest are zeros, so an address
  // is null.
  sample.contents = good;
  sample.contents.launches[0].arguments = {
      artifact::Argument::ofScalar64(0), artifact::Argument::ofScalar64(0),
      artifact::Argument::ofScalar64(0), artifact::Argument::ofScalar32(300)};
  refused("model add");
}

TEST_F(Emulator, IsFoundByDoctor) {
  ToolResult result = run("doctor");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("emulator   Pascaline emulator"), std::string::npos)
      << result.out;
}

TEST_F(Emulator, IsBenched) {
  ToolResult result = run("bench add.pasc --device emulator --iterations 5 "
                          "--warmup 1 --json b.json --trace t.json");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("host wall times of the emulator, not GPU times"),
            std::string::npos);
  EXPECT_NE(result.out.find("add: first, second"), std::string::npos);
  std::string json = read("b.json");
  for (const char *part :
       {"\"kind\": \"emulated\"", "\"total_us\": {\"min\": ",
        "\"iterations\": 5", "\"nodes\": [\"first\", \"second\"]",
        "\"launches\": 2, \"time_us\": ", "\"memory\": {\"weights\": 1200"})
    EXPECT_NE(json.find(part), std::string::npos) << json;
  EXPECT_NE(read("t.json").find("\"ph\": \"X\""), std::string::npos);
}

TEST_F(Emulator, WritesResultsOverNeitherTheModelNorADevice) {
  std::string before = read("add.pasc");
  const std::string bench = "bench add.pasc --device emulator --iterations 1 ";
  for (const char *option : {"--json add.pasc", "--trace ./add.pasc"}) {
    ToolResult result = run(bench + option);
    EXPECT_EQ(result.code, 1) << option;
    EXPECT_NE(result.err.find("add.pasc: is the model itself"),
              std::string::npos)
        << result.err;
  }
  EXPECT_EQ(read("add.pasc"), before);

  // As to /dev/stdout or /dev/null.
  std::string pipe = (folder / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ToolResult result = run(bench + "--json pipe");
  EXPECT_EQ(result.code, 0) << result.err;
  char got[10] = "";
  EXPECT_EQ(::read(reader, got, 9), 9);
  EXPECT_EQ(std::string(got), "{\"model\":");
  close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST_F(Emulator, RunsSessionsOfOneModelInSeveralThreads) {
  pascaline_device *device;
  pascaline_model *model;
  ASSERT_EQ(pascaline_device_open("emulator", nullptr, &device), PASCALINE_OK)
      << pascaline_last_error();
  ASSERT_EQ(pascaline_model_open((folder / "add.pasc").c_str(), device, &model),
            PASCALINE_OK)
      << pascaline_last_error();
  auto work = [&](float a) {
    pascaline_session *session;
    ASSERT_EQ(pascaline_session_open(model, &session), PASCALINE_OK);
    runMany(session, a);
    pascaline_session_close(session);
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back(work, float(i));
  for (std::thread &thread : threads)
    thread.join();
  pascaline_model_close(model);
  pascaline_device_close(device);
}

} // namespace
