// `pascaline` itself: exit codes, the one sentence on stderr, and that nothing
// is written when it refuses. What runs a kernel is in EmulatorTest.cpp.
#include "test/runtime/Tool.h"

#include "test/runtime/Samples.h"

#include <gtest/gtest.h>

#include <filesystem>

using namespace pascaline;
using namespace pascaline::testing;
namespace fs = std::filesystem;

namespace {

struct Cli : ToolTest {
  void refused(const std::string &arguments, const std::string &sentence,
               int code = 1) {
    ToolResult result = run(arguments);
    EXPECT_EQ(result.code, code) << arguments;
    EXPECT_NE(result.err.find(sentence), std::string::npos) << result.err;
    // One line, and nothing on stdout.
    EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_FALSE(fs::exists(folder / "out")) << arguments;
  }
};

TEST_F(Cli, HelpFitsAScreen) {
  ToolResult result = run("--help");
  EXPECT_EQ(result.code, 0);
  EXPECT_LT(std::count(result.out.begin(), result.out.end(), '\n'), 34);
  EXPECT_EQ(run("run --help").out, result.out);
}

TEST_F(Cli, WrongUsageIsTwo) {
  refused("", "no command is given", 2);
  refused("walk", "there is no command \"walk\"", 2);
  refused("run", "no MODEL.pasc is given", 2);
  refused("run add.pasc", "no --output-dir is given", 2);
  refused("run add.pasc --output-dir", "--output-dir needs a value", 2);
  refused("inspect add.pasc --sanitize", "there is no option --sanitize here",
          2);
  refused("run add.pasc x --output-dir out", "\"x\" is one argument too many",
          2);
  refused("run add.pasc --output-dir out --input a", "--input takes NAME=FILE",
          2);
  refused("bench add.pasc --iterations 0", "--iterations takes a number from 1",
          2);
  refused("bench add.pasc --warmup x", "not \"x\"", 2);
  refused("inspect add.pasc --json=3", "--json takes no value", 2);
  refused("inspect add.pasc --json --json", "--json is given twice", 2);
}

TEST_F(Cli, RefusesFilesThatAreNoArtifact) {
  for (const char *command : {"inspect", "bench"}) {
    refused(std::string(command) + " nothing.pasc",
            "nothing.pasc: cannot be opened: No such file or directory");
    refused(std::string(command) + " a.npy", "not a pascaline artifact");
    refused(std::string(command) + " .", "cannot be read: not a regular file");
  }
  write("cut.pasc", sample.bytes().substr(0, 1000));
  refused("inspect cut.pasc", "cut.pasc: the header says the file has ");
}

TEST_F(Cli, RefusesInputsWithASentence) {
  const std::string both = "run add.pasc --output-dir out --input a=a.npy ";
  refused("run add.pasc --output-dir out --input a=a.npy",
          "no --input for \"b\", f32 1x300; add --input b=FILE.npy");
  refused(both + "--input c=a.npy",
          "the model has no input \"c\"; it has a, b");
  refused(both + "--input 'c\n\x1b[31m=a.npy'",
          "the model has no input \"c??[31m\"; it has a, b");
  refused(both + "--input a=a.npy", "input \"a\" is given twice");
  refused(both + "--input b=a.npy",
          "input \"b\" takes f32 1x300, a.npy holds f32 300");
  refused(both + "--input b=long.npy",
          "input \"b\" takes f32 1x300, long.npy holds i64 1x300");
  refused(both + "--input b=add.pasc", "not a .npy file");
  refused(both + "--input b=gone.npy", "gone.npy: cannot be opened");
}

TEST_F(Cli, RefusesTwoOutputsOfOneName) {
  sample.contents.outputs[0].name = "output_1";
  sample.contents.outputs[1].name = "../y";
  write("add.pasc", sample.bytes());
  refused("run add.pasc --output-dir out --input a=a.npy --input b=b.npy",
          "outputs \"output_1\" and \"../y\" would both be written as "
          "output_1.npy");
}

TEST_F(Cli, SaysThatThereIsNoDevice) {
  emulator = "/no/such/emulator.so";
  refused("run add.pasc --output-dir out --device emulator --input a=a.npy "
          "--input b=b.npy",
          "/no/such/emulator.so");
  refused("bench add.pasc --device gpu:77777", "is none of auto, gpu");
}

TEST_F(Cli, DoctorSaysWhatIsMissing) {
  emulator = "/no/such/emulator.so";
  ToolResult result = run("doctor");
  EXPECT_NE(result.out.find("emulator   no: /no/such/emulator.so"),
            std::string::npos)
      << result.out;
  EXPECT_NE(result.out.find("ptxas      "), std::string::npos) << result.out;
  bool gpu = result.out.find(": works") != std::string::npos;
  EXPECT_EQ(result.code, gpu ? 0 : 1) << result.out;
  refused("doctor x", "\"x\" is one argument too many", 2);
}

TEST_F(Cli, InspectsAsText) {
  ToolResult result = run("inspect add.pasc");
  EXPECT_EQ(result.code, 0) << result.err;
  for (const char *line :
       {"model    add, format version 1, sm_61, tuned for gtx1080ti, by test",
        "input    b  f32 1x300", "output   y  f32 300",
        "launches 2 a run, 2 of them primary; 0 at load",
        "dram     add: first, second"})
    EXPECT_NE(result.out.find(line), std::string::npos) << result.out;
}

TEST_F(Cli, InspectsAsJson) {
  sample.contents.launches[0].nodes = {"quote\" back\\ \xc3\xa9 \xff \n"};
  write("add.pasc", sample.bytes());
  ToolResult result = run("inspect add.pasc --json");
  EXPECT_EQ(result.code, 0) << result.err;
  for (const char *part :
       {"{\"model\": \"add\", \"format_version\": 1, \"target\": \"sm_61\"",
        "\"inputs\": [{\"name\": \"a\", \"type\": \"f32\", \"shape\": [300], "
        "\"bytes\": 1200}, {",
        "\"kernels\": [{\"name\": \"add\", \"nodes\": [\"quote\\\" back\\\\ "
        "\xc3\xa9 \xef\xbf\xbd \\u000a\", \"second\"], \"launches\": 2, "
        "\"flops\": 600, \"bytes\": 7200, \"registers\": 20, \"limit\": "
        "\"dram\"}]",
        "\"memory\": {\"weights\": 1200, \"arena\": 5296, \"lower_bound\": "
        "1200, \"onnx_order\": 2400"})
    EXPECT_NE(result.out.find(part), std::string::npos) << result.out;
}

TEST_F(Cli, ExtractsThePtx) {
  EXPECT_EQ(run("inspect add.pasc --extract-ptx ptx").code, 0);
  EXPECT_EQ(read("ptx/add.ptx"), sample.contents.ptx);
}

} // namespace
