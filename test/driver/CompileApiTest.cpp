// CompileApiTest.cpp - the compiler as a library: pascaline/compile.h, and that
// fatal errors end a compile and not the process.
#include "tools/driver/Guard.h"
#include "tools/driver/include/pascaline/compile.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/ThreadPool.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

// Just enough of protobuf: fields of fewer than 128 bytes.
std::string bytesField(int field, const std::string &value) {
  return std::string{static_cast<char>(field << 3 | 2),
                     static_cast<char>(value.size())} +
         value;
}
std::string intField(int field, int value) {
  return {static_cast<char>(field << 3), static_cast<char>(value)};
}

std::string tensorValue(const std::string &name) {
  std::string shape =
      bytesField(1, intField(1, 2)) + bytesField(1, intField(1, 3));
  std::string type = intField(1, 1) + bytesField(2, shape);
  return bytesField(1, name) + bytesField(2, bytesField(1, type));
}

/// y = op(x), float [2, 3].
std::string unaryModel(const std::string &op) {
  std::string node = bytesField(1, "x") + bytesField(2, "y") +
                     bytesField(3, "node") + bytesField(4, op);
  std::string graph = bytesField(1, node) + bytesField(2, "graph") +
                      bytesField(11, tensorValue("x")) +
                      bytesField(12, tensorValue("y"));
  return intField(1, 8) + bytesField(7, graph) + bytesField(8, intField(2, 17));
}

struct Result {
  pascaline_compile_status status;
  std::string artifact, messages;
};

void collect(void *user, pascaline_compile_severity, const char *message) {
  *static_cast<std::string *>(user) += message;
}

Result compile(const std::string &model, const char *chip = nullptr,
               const char *precision = nullptr) {
  Result result;
  pascaline_compile_options options = {};
  options.size = sizeof options;
  options.chip = chip;
  options.precision = precision;
  options.diagnostic = collect;
  options.diagnostic_user = &result.messages;
  void *artifact = nullptr;
  size_t bytes = 0;
  result.status = pascaline_compile_bytes(model.data(), model.size(), "m.onnx",
                                          &options, &artifact, &bytes);
  if (artifact)
    result.artifact.assign(static_cast<char *>(artifact), bytes);
  pascaline_compile_free(artifact);
  return result;
}

std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(CompileApi, GivesTheToolsBytes) {
  std::string folder =
      testing::TempDir() + "compile-api-" + std::to_string(::getpid());
  std::filesystem::create_directory(folder);
  std::string model = folder + "/m.onnx", artifact = folder + "/m.pasc";
  std::ofstream(model, std::ios::binary) << unaryModel("Relu");
  std::string command =
      std::string(PASCALINE_COMPILE_TOOL) + " " + model + " -o " + artifact;
  ASSERT_EQ(std::system(command.c_str()), 0);
  Result result = compile(unaryModel("Relu"));
  EXPECT_EQ(result.status, PASCALINE_COMPILE_OK) << result.messages;
  EXPECT_FALSE(result.artifact.empty());
  EXPECT_EQ(result.artifact, readFile(artifact));

  void *bytes = nullptr;
  size_t size = 0;
  EXPECT_EQ(pascaline_compile_file(model.c_str(), nullptr, &bytes, &size),
            PASCALINE_COMPILE_OK);
  EXPECT_EQ(std::string(static_cast<char *>(bytes), size), result.artifact);
  pascaline_compile_free(bytes);
  std::filesystem::remove_all(folder);
}

TEST(CompileApi, RefusesWithASentence) {
  Result result = compile(unaryModel("NoSuchOp"));
  EXPECT_EQ(result.status, PASCALINE_COMPILE_REFUSED);
  EXPECT_TRUE(result.artifact.empty());
  EXPECT_NE(result.messages.find("NoSuchOp"), std::string::npos)
      << result.messages;

  result = compile("no model");
  EXPECT_EQ(result.status, PASCALINE_COMPILE_REFUSED);
  EXPECT_EQ(result.messages.rfind("m.onnx: ", 0), 0u) << result.messages;

  result = compile(unaryModel("Relu"), "voodoo");
  EXPECT_EQ(result.status, PASCALINE_COMPILE_REFUSED);
  EXPECT_NE(result.messages.find("voodoo"), std::string::npos);
}

TEST(CompileApi, ChecksArguments) {
  Result result = compile(unaryModel("Relu"), nullptr, "fp8");
  EXPECT_EQ(result.status, PASCALINE_COMPILE_INVALID_ARGUMENT);
  EXPECT_NE(result.messages.find("fp8"), std::string::npos);
  void *artifact = &result;
  size_t bytes = 1;
  EXPECT_EQ(pascaline_compile_file(nullptr, nullptr, &artifact, &bytes),
            PASCALINE_COMPILE_INVALID_ARGUMENT);
  pascaline_compile_options options = {};
  EXPECT_EQ(pascaline_compile_file("x", &options, &artifact, &bytes),
            PASCALINE_COMPILE_INVALID_ARGUMENT);
  EXPECT_EQ(artifact, nullptr);
}

TEST(CompileApi, NamesOptionalPasses) {
  std::vector<std::string> floats, halves;
  for (size_t i = 0; const char *name = pascaline_compile_optional_pass("", i);
       ++i)
    FAIL() << name << " for no precision";
  for (size_t i = 0;
       const char *name = pascaline_compile_optional_pass(nullptr, i); ++i)
    floats.push_back(name);
  for (size_t i = 0;
       const char *name = pascaline_compile_optional_pass("fp16", i); ++i)
    halves.push_back(name);
  auto has = [](const std::vector<std::string> &names, const char *name) {
    return std::count(names.begin(), names.end(), name) == 1;
  };
  EXPECT_TRUE(has(floats, "fuse-epilogue"));
  EXPECT_FALSE(has(floats, "store-half"));
  EXPECT_TRUE(has(halves, "store-half"));
}

TEST(CompileApi, ChecksListsOfNames) {
  std::string model = unaryModel("Relu");
  const char *ghost[] = {"ghost"}, *missing[] = {nullptr};
  std::string messages;
  auto compileWith = [&](const pascaline_compile_options &wanted) {
    pascaline_compile_options options = wanted;
    options.size = sizeof options;
    options.diagnostic = collect;
    options.diagnostic_user = &messages;
    messages.clear();
    void *artifact = nullptr;
    size_t bytes = 0;
    auto status = pascaline_compile_bytes(model.data(), model.size(), "m.onnx",
                                          &options, &artifact, &bytes);
    pascaline_compile_free(artifact);
    return status;
  };
  pascaline_compile_options options = {};
  options.expose = ghost;
  options.expose_count = 1;
  EXPECT_EQ(compileWith(options), PASCALINE_COMPILE_REFUSED);
  EXPECT_NE(messages.find("--expose ghost"), std::string::npos) << messages;
  options.expose = missing;
  EXPECT_EQ(compileWith(options), PASCALINE_COMPILE_INVALID_ARGUMENT);
  EXPECT_NE(messages.find("expose[0]"), std::string::npos) << messages;
  options = {};
  options.skip_passes = ghost;
  options.skip_pass_count = 1;
  EXPECT_EQ(compileWith(options), PASCALINE_COMPILE_REFUSED);
  EXPECT_NE(messages.find("\"ghost\""), std::string::npos) << messages;
  options.skip_passes = nullptr;
  EXPECT_EQ(compileWith(options), PASCALINE_COMPILE_INVALID_ARGUMENT);
  EXPECT_NE(messages.find("skip_passes"), std::string::npos) << messages;
  options = {};
  options.ptxas = "/no/such/ptxas";
  EXPECT_EQ(compileWith(options), PASCALINE_COMPILE_INVALID_ARGUMENT);
  EXPECT_NE(messages.find("options.cubin"), std::string::npos) << messages;
  options.cubin = 1;
  EXPECT_EQ(compileWith(options), PASCALINE_COMPILE_REFUSED);
  EXPECT_NE(messages.find("/no/such/ptxas does not say its release"),
            std::string::npos)
      << messages;
}

TEST(CompileApi, RefusesWhatNeedsMoreMemory) {
  std::string model = unaryModel("Relu"), messages;
  pascaline_compile_options options = {};
  options.size = sizeof options;
  options.diagnostic = collect;
  options.diagnostic_user = &messages;
  options.memory_limit = 1;
  void *artifact = nullptr;
  size_t bytes = 0;
  EXPECT_EQ(pascaline_compile_bytes(model.data(), model.size(), "m.onnx",
                                    &options, &artifact, &bytes),
            PASCALINE_COMPILE_REFUSED);
  EXPECT_EQ(artifact, nullptr);
  EXPECT_NE(messages.find("more than the --memory-limit of 1"),
            std::string::npos)
      << messages;
  options.memory_limit = uint64_t(1) << 20;
  EXPECT_EQ(pascaline_compile_bytes(model.data(), model.size(), "m.onnx",
                                    &options, &artifact, &bytes),
            PASCALINE_COMPILE_OK);
  pascaline_compile_free(artifact);
}

TEST(CompileApi, CompilesOnTwoThreadsAtOnce) {
  std::string alone[2] = {compile(unaryModel("Relu")).artifact,
                          compile(unaryModel("Tanh")).artifact};
  std::string together[2];
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&, i] {
      together[i] = compile(unaryModel(i ? "Tanh" : "Relu")).artifact;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(together[0], alone[0]);
  EXPECT_EQ(together[1], alone[1]);
  EXPECT_NE(together[0], together[1]);
}

TEST(Guard, OutlivesFatalErrors) {
  std::string error;
  EXPECT_FALSE(pascaline::runGuarded(
      [](llvm::ThreadPoolInterface &) {
        llvm::report_fatal_error("first", /*gen_crash_diag=*/false);
      },
      error));
  EXPECT_NE(error.find("first"), std::string::npos);
  EXPECT_FALSE(pascaline::runGuarded(
      [](llvm::ThreadPoolInterface &pool) {
        pool.async([] { llvm::report_fatal_error("on a pool's thread"); });
        pool.wait();
      },
      error));
  EXPECT_NE(error.find("on a pool's thread"), std::string::npos);
  EXPECT_TRUE(pascaline::runGuarded([](llvm::ThreadPoolInterface &) {}, error));
  EXPECT_EQ(compile(unaryModel("Relu")).status, PASCALINE_COMPILE_OK);
}

} // namespace
