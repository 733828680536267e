// Textures of linear memory: every format, coordinates outside, references and
// objects, and handles that are wrong.
#include "DriverTest.h"

#include <cstring>

namespace {

constexpr char kFetch[] =
    ".global .texref reference;\n"
    ".visible .entry fetch(.param .u64 out, .param .u64 texture) {\n"
    ".reg .b32 %r<9>; .reg .b64 %d<4>; .reg .pred %p;\n"
    "ld.param.u64 %d1, [out]; ld.param.u64 %d2, [texture];\n"
    "mov.u32 %r1, %tid.x; mul.wide.u32 %d3, %r1, 16; add.u64 %d1, %d1, %d3;\n"
    "sub.s32 %r2, %r1, 2; setp.eq.u64 %p, %d2, 0; @%p bra REF;\n"
    "tex.1d.v4.u32.s32 {%r3, %r4, %r5, %r6}, [%d2, {%r2}]; bra DONE;\n"
    "REF: tex.1d.v4.f32.s32 {%r3, %r4, %r5, %r6}, [reference, {%r2}];\n"
    "DONE: st.global.v4.u32 [%d1], {%r3, %r4, %r5, %r6}; ret; }\n";

uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

class DriverTexture : public DriverTest {
protected:
  void SetUp() override {
    DriverTest::SetUp();
    module = load(kFetch);
  }
  void TearDown() override {
    EXPECT_DONE(cuModuleUnload(module));
    DriverTest::TearDown();
  }

  static CUDA_RESOURCE_DESC linear(CUdeviceptr address, size_t bytes,
                                   int format, unsigned channels) {
    CUDA_RESOURCE_DESC resource = {};
    resource.resType = 2;
    resource.res.linear = {address, format, channels, bytes};
    return resource;
  }
  // Texels -2 to 5; what is no texel must be zeros.
  std::vector<uint32_t> fetch(CUtexObject texture) {
    CUdeviceptr out = allocate(8 * 16);
    void *arguments[] = {&out, &texture};
    EXPECT_DONE(cuLaunchKernel(function(module, "fetch"), 1, 1, 1, 8, 1, 1, 0,
                               nullptr, arguments, nullptr));
    auto words = download<uint32_t>(out, 32);
    EXPECT_DONE(cuMemFree_v2(out));
    return words;
  }
  std::vector<uint32_t> fetch(const CUDA_RESOURCE_DESC &resource,
                              unsigned flags) {
    CUDA_TEXTURE_DESC description = {};
    description.flags = flags;
    CUtexObject texture = 0;
    EXPECT_DONE(cuTexObjectCreate(&texture, &resource, &description, nullptr));
    auto words = fetch(texture);
    EXPECT_DONE(cuTexObjectDestroy(texture));
    return words;
  }

  CUmodule module = nullptr;
};

TEST_F(DriverTexture, ReadsEveryFormat) {
  CUdeviceptr memory = upload(std::vector<uint32_t>{0x80ff7f01, 0xbc003c00});
  struct Case {
    int format;
    unsigned channels, flags;
    std::vector<uint32_t> texels; // four channels each, from texel 0
  };
  const Case cases[] = {
      {0x01, 4, 1, {1, 0x7f, 0xff, 0x80, 0, 0x3c, 0, 0xbc}},
      {0x08, 4, 1, {1, 127, ~0u, uint32_t(-128), 0, 0x3c, 0, uint32_t(-68)}},
      {0x01,
       2,
       0,
       {bitsOf(1 / 255.f), bitsOf(127 / 255.f), 0, 0, bitsOf(1.f),
        bitsOf(128 / 255.f), 0, 0}},
      {0x08,
       1,
       0,
       {bitsOf(1 / 127.f), 0, 0, 0, bitsOf(1.f), 0, 0, 0, bitsOf(-1 / 127.f), 0,
        0, 0, bitsOf(-1.f), 0, 0, 0}},
      {0x02, 2, 1, {0x7f01, 0x80ff, 0, 0, 0x3c00, 0xbc00, 0, 0}},
      {0x09, 1, 1, {0x7f01, 0, 0, 0, 0xffff80ff, 0, 0, 0}},
      {0x02, 1, 0, {bitsOf(0x7f01 / 65535.f), 0, 0, 0}},
      {0x09, 1, 0, {bitsOf(0x7f01 / 32767.f), 0, 0, 0}},
      {0x03, 1, 0, {0x80ff7f01, 0, 0, 0, 0xbc003c00, 0, 0, 0}},
      {0x0a, 2, 0, {0x80ff7f01, 0xbc003c00, 0, 0}},
      {0x20, 1, 0, {0x80ff7f01, 0, 0, 0, 0xbc003c00, 0, 0, 0}},
  };
  for (const Case &each : cases) {
    auto words =
        fetch(linear(memory, 8, each.format, each.channels), each.flags);
    std::vector<uint32_t> want(8, 0);
    want.insert(want.end(), each.texels.begin(), each.texels.end());
    words.resize(want.size());
    EXPECT_EQ(words, want) << each.format << " x " << each.channels;
  }
  auto halves = fetch(linear(memory + 0, 8, 0x10, 2), 0);
  EXPECT_EQ(halves[12], bitsOf(1.f));
  EXPECT_EQ(halves[13], bitsOf(-1.f));
  EXPECT_EQ(halves[9], bitsOf(-0x1.fep-17f)); // the subnormal 0x80ff
  EXPECT_EQ(std::vector<uint32_t>(halves.begin() + 16, halves.end()),
            std::vector<uint32_t>(16, 0)); // past the end
  EXPECT_DONE(cuMemFree_v2(memory));
}

TEST_F(DriverTexture, ReferencesAreBoundByName) {
  CUtexref reference = nullptr;
  EXPECT_DONE(cuModuleGetTexRef(&reference, module, "reference"));
  EXPECT_EQ(fetch(CUtexObject(0)), std::vector<uint32_t>(32, 0));
  CUdeviceptr memory = upload(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8});
  size_t offset = 1;
  EXPECT_DONE(cuTexRefSetAddress_v2(&offset, reference, memory, 32));
  EXPECT_EQ(offset, 0u);
  EXPECT_DONE(cuTexRefSetFormat(reference, 0x20, 4));
  EXPECT_DONE(cuTexRefSetFlags(reference, 1));
  auto words = fetch(CUtexObject(0));
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(words[8 + i], bitsOf(i + 1.f));
  EXPECT_EQ(words[16], 0u);
  EXPECT_EQ(cuModuleGetTexRef(&reference, module, "nothing"),
            CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(cuTexRefSetFormat(reference, 0x20, 3), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuTexRefSetAddress_v2(&offset, reference, memory, 33 + 4096),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuTexRefSetFlags(nullptr, 0), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_DONE(cuMemFree_v2(memory));
}

TEST_F(DriverTexture, RefusesWhatIsNoLinearMemory) {
  CUdeviceptr memory = upload(std::vector<uint32_t>(256));
  CUDA_TEXTURE_DESC description = {};
  CUtexObject texture = 0;
  auto create = [&](CUDA_RESOURCE_DESC resource) {
    return cuTexObjectCreate(&texture, &resource, &description, nullptr);
  };
  auto array = linear(memory, 8, 0x20, 1);
  array.resType = 0;
  EXPECT_EQ(create(array), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(create(linear(memory + 4, 8, 0x20, 1)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create(linear(memory, 8, 0x21, 1)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create(linear(0, 8, 0x20, 1)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuTexObjectDestroy(1), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_DONE(create(linear(memory, 1024, 0x20, 2)));
  CUDA_RESOURCE_DESC back = {};
  EXPECT_DONE(cuTexObjectGetResourceDesc(&back, texture));
  EXPECT_EQ(back.res.linear.devPtr, memory);
  EXPECT_EQ(back.res.linear.sizeInBytes, 1024u);
  EXPECT_DONE(cuTexObjectDestroy(texture));
  EXPECT_EQ(cuTexObjectDestroy(texture), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_DONE(cuMemFree_v2(memory));
}

TEST_F(DriverTexture, AStaleHandleFailsTheLaunch) {
  CUcontext other = nullptr;
  ASSERT_DONE(cuCtxCreate_v2(&other, 0, 0));
  CUmodule loaded = load(kFetch);
  CUdeviceptr memory = upload(std::vector<uint32_t>(256));
  CUDA_TEXTURE_DESC description = {};
  CUDA_RESOURCE_DESC resource = linear(memory, 1024, 0x20, 1);
  CUtexObject texture = 0, again = 0;
  ASSERT_DONE(cuTexObjectCreate(&texture, &resource, &description, nullptr));
  ASSERT_DONE(cuTexObjectDestroy(texture));
  ASSERT_DONE(cuTexObjectCreate(&again, &resource, &description, nullptr));
  void *arguments[] = {&memory, &texture};
  EXPECT_EQ(cuLaunchKernel(function(loaded, "fetch"), 1, 1, 1, 1, 1, 1, 0,
                           nullptr, arguments, nullptr),
            CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_ERROR_HAS("a texture fetch from what is no texture");
  EXPECT_DONE(cuCtxDestroy_v2(other));
}

TEST_F(DriverTexture, OtherTexturesAreRefusedByTheirLine) {
  CUmodule loaded = nullptr;
  auto image = [](const char *line) {
    return header() + ".visible .entry k() { .reg .b32 %r<9>; .reg .b64 %d;\n" +
           line + " ret; }\n";
  };
  EXPECT_EQ(cuModuleLoadData(&loaded, image("tex.2d.v4.f32.s32 {%r1, %r2, %r3, "
                                            "%r4}, [%d, {%r5, %r6}];")
                                          .c_str()),
            CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_ERROR_HAS("line 5: 'tex.2d.v4.f32.s32' is not supported");
  EXPECT_EQ(cuModuleLoadData(&loaded, image("tex.1d.v4.f32.s32 {%r1, %r2, %r3, "
                                            "%r4}, [%d, {%r5, %r6}];")
                                          .c_str()),
            CUDA_ERROR_INVALID_PTX);
  EXPECT_ERROR_HAS("line 5: 'tex.1d.v4.f32.s32': needs [texture, {x}]");
}

} // namespace
