// SanitizerTest.h - kernels with a planted fault, and kernels with none.
//
// Comments //A and //B in a kernel mark lines; @A and @B in what is expected
// stand for their numbers. The kernel's buffer has 1000 bytes, of which the
// first 512 are zeros and the rest undefined.
#pragma once

#include "DriverTest.h"

#include <algorithm>

struct Kernel {
  const char *name;
  const char *body;
  const char *declarations = "";
  unsigned grid = 1, block = 1;
};

struct Fault {
  Kernel kernel;
  CUresult result;
  std::vector<std::string> parts; // of the sentence
};

class SanitizerTest : public DriverTest {
protected:
  static constexpr size_t kBytes = 1000, kDefined = 512;

  CUresult run(const Kernel &kernel) {
    text = header() + kernel.declarations +
           "\n.visible .entry k(.param .u64 p) {\n"
           ".reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<32>; "
           ".reg .f32 %f<8>;\n"
           "ld.param.u64 %rd0, [p];\nmov.u32 %r0, %tid.x;\n"
           "mov.u32 %r31, %ctaid.x;\n" +
           kernel.body + "ret;\n}\n";
    buffer = allocate(kBytes);
    EXPECT_DONE(cuMemsetD8_v2(buffer, 0, kDefined));
    CUmodule module = nullptr;
    EXPECT_DONE(cuModuleLoadData(&module, text.c_str()));
    return launch(function(module), kernel.grid, kernel.block, {&buffer});
  }

  std::string expanded(std::string part) const {
    for (const char *mark : {"A", "B"})
      for (size_t at;
           (at = part.find(std::string("@") + mark)) != std::string::npos;)
        part.replace(at, 2, std::to_string(lineOf(std::string("//") + mark)));
    return part;
  }
  size_t lineOf(const std::string &mark) const {
    size_t at = text.find(mark);
    EXPECT_NE(at, std::string::npos) << mark;
    return 1 + std::count(text.begin(), text.begin() + at, '\n');
  }

  void expectFound(const Fault &fault) {
    EXPECT_EQ(run(fault.kernel), fault.result);
    EXPECT_ERROR_HAS(std::string("kernel k, block ("));
    for (const std::string &part : fault.parts)
      EXPECT_ERROR_HAS(expanded(part));
  }

  std::string text;
  CUdeviceptr buffer = 0;
};

class FaultTest : public SanitizerTest,
                  public testing::WithParamInterface<Fault> {};
class CorrectTest : public SanitizerTest,
                    public testing::WithParamInterface<Kernel> {};

inline std::string nameOf(const testing::TestParamInfo<Fault> &info) {
  return info.param.kernel.name;
}
inline std::string kernelName(const testing::TestParamInfo<Kernel> &info) {
  return info.param.name;
}
