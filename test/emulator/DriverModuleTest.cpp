#include "DriverTest.h"

#include <cstdio>
#include <cstring>

namespace {

class DriverModule : public DriverTest {
protected:
  CUresult loadWithLog(const std::string &image, std::string *log) {
    char buffer[256];
    std::memset(buffer, 'x', sizeof buffer);
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                              CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_MAX_REGISTERS};
    void *values[] = {buffer, reinterpret_cast<void *>(sizeof buffer),
                      reinterpret_cast<void *>(uintptr_t(32))};
    CUmodule module;
    CUresult result =
        cuModuleLoadDataEx(&module, image.c_str(), 3, options, values);
    *log = buffer;
    EXPECT_EQ(log->size(), reinterpret_cast<size_t>(values[1]));
    return result;
  }
};

constexpr char kEmpty[] = ".visible .entry k() { ret; }\n";

TEST_F(DriverModule, LogsWhatIsWrongWithAnImage) {
  std::string log;
  EXPECT_DONE(loadWithLog(header() + kEmpty, &log));
  EXPECT_EQ(log, "");
  EXPECT_EQ(loadWithLog(header() + ".visible .entry k() { frob.u32; }", &log),
            CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(log.find("line 4"), std::string::npos) << log;
  EXPECT_EQ(lastError(), log);
  EXPECT_EQ(loadWithLog("this is a text", &log), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(loadWithLog("", &log), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(
      loadWithLog(".version 99.0\n.target sm_61\n.address_size 64\n", &log),
      CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  EXPECT_EQ(loadWithLog(std::string(".version 6.4\n.target sm_75\n"
                                    ".address_size 64\n") +
                            kEmpty,
                        &log),
            CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(loadWithLog("\x7f"
                        "ELF and so on",
                        &log),
            CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_NE(log.find("the emulator runs PTX"), std::string::npos);
  EXPECT_EQ(loadWithLog("\x50\xed\x55\xba fatbin", &log),
            CUDA_ERROR_NO_BINARY_FOR_GPU);
}

TEST_F(DriverModule, ALogBufferIsNeverOverrun) {
  char buffer[8] = "zzzzzzz";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                            CU_JIT_ERROR_LOG_BUFFER};
  void *values[] = {reinterpret_cast<void *>(4), buffer};
  CUmodule module;
  EXPECT_EQ(cuModuleLoadDataEx(&module, "nonsense", 2, options, values),
            CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(buffer[3], '\0');
  EXPECT_STREQ(buffer + 4, "zzz");
  EXPECT_EQ(cuModuleLoadDataEx(&module, "nonsense", 2, nullptr, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuModuleLoadData(&module, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverModule, FindsKernelsAndTheirAttributes) {
  CUmodule module =
      load(".visible .entry k() .maxntid 96, 2, 1 {\n"
           ".shared .align 4 .b8 s[2000];\n.local .align 4 .b8 l[40];\n"
           ".reg .b32 %r<2>; mov.u32 %r1, s; st.shared.u32 [%r1], 1;\n"
           "mov.u32 %r1, l; st.local.u32 [%r1], 1;\nret; }\n");
  CUfunction k = function(module);
  auto attribute = [&](int which) {
    int value = -1;
    EXPECT_DONE(cuFuncGetAttribute(&value, CUfunction_attribute(which), k));
    return value;
  };
  EXPECT_EQ(attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 192);
  EXPECT_EQ(attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 2000);
  EXPECT_GE(attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES), 40);
  EXPECT_EQ(attribute(CU_FUNC_ATTRIBUTE_PTX_VERSION), 61);
  EXPECT_EQ(attribute(CU_FUNC_ATTRIBUTE_BINARY_VERSION), 61);
  int value;
  EXPECT_EQ(cuFuncGetAttribute(&value, CUfunction_attribute(99), k),
            CUDA_ERROR_INVALID_VALUE);
  CUfunction none;
  EXPECT_EQ(cuModuleGetFunction(&none, module, "nobody"), CUDA_ERROR_NOT_FOUND);
  EXPECT_ERROR_HAS("no kernel named nobody");
  EXPECT_DONE(launch(k, 1, 192, {}));
  EXPECT_EQ(launch(k, 1, 193, {}), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  EXPECT_DONE(cuModuleUnload(module));
  EXPECT_EQ(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(launch(k, 1, 1, {}), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, k),
            CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(DriverModule, VariablesLieInDeviceMemory) {
  CUmodule module = load(".visible .global .align 4 .u32 g[3] = {7, 8, 9};\n"
                         ".visible .const .align 4 .u32 c = 100;\n"
                         ".visible .entry k() {\n.reg .b32 %r<4>;\n"
                         "ld.const.u32 %r1, [c];\nld.global.u32 %r2, [g+4];\n"
                         "add.u32 %r3, %r1, %r2;\nst.global.u32 [g], %r3;\n"
                         "ret; }\n");
  CUdeviceptr pointer = 0;
  size_t bytes = 0;
  EXPECT_DONE(cuModuleGetGlobal_v2(&pointer, &bytes, module, "g"));
  EXPECT_EQ(bytes, 12u);
  EXPECT_EQ(download<int>(pointer, 3), (std::vector<int>{7, 8, 9}));
  EXPECT_DONE(launch(function(module), 1, 1, {}));
  EXPECT_EQ(download<int>(pointer, 3), (std::vector<int>{108, 8, 9}));
  EXPECT_EQ(cuMemFree_v2(pointer), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuModuleGetGlobal_v2(&pointer, &bytes, module, "h"),
            CUDA_ERROR_NOT_FOUND);
  EXPECT_DONE(cuModuleUnload(module));
  char host;
  EXPECT_EQ(cuMemcpyDtoH_v2(&host, pointer, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverModule, LoadsFiles) {
  CUmodule module;
  EXPECT_EQ(cuModuleLoad(&module, "/no/such/file.ptx"),
            CUDA_ERROR_FILE_NOT_FOUND);
  std::string path = testing::TempDir() + "pascaline-driver-test.ptx";
  std::FILE *file = std::fopen(path.c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fputs((header() + kEmpty).c_str(), file);
  std::fclose(file);
  EXPECT_DONE(cuModuleLoad(&module, path.c_str()));
  std::remove(path.c_str());
}

} // namespace
