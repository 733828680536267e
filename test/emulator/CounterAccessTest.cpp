// Sectors of device and local memory, wavefronts of shared memory, words of
// constants.
#include "CounterTest.h"

namespace {

class CounterAccess : public CounterTest {
protected:
  // %rd1 = p + scale * tid + offset
  static std::string place(unsigned scale, unsigned offset = 0) {
    return "mul.wide.u32 %rd1, %r0, " + std::to_string(scale) +
           ";\nadd.u64 %rd1, %rd1, %rd0;\nadd.u64 %rd1, %rd1, " +
           std::to_string(offset) + ";\n";
  }
  // One load a lane at p + scale * tid + offset: sectors of the request.
  void expectSectors(unsigned scale, unsigned offset, const char *load,
                     unsigned bytes, uint64_t sectors) {
    SCOPED_TRACE(std::string(load) + " " + std::to_string(scale) + " " +
                 std::to_string(offset));
    auto counters = count(place(scale, offset) + load);
    EXPECT_COUNTERS(counters, {{"global_load_requests", 1},
                               {"global_load_sectors", sectors},
                               {"global_load_bytes", 32 * bytes},
                               {"warp_load_global", 1},
                               {"thread_load_global", 32},
                               {"global_store_requests", 0},
                               {"shared_load_requests", 0}});
  }
  // A load or store by a lane at shared offset scale * tid + offset.
  void expectWavefronts(unsigned scale, const char *access, unsigned bytes,
                        uint64_t wavefronts, const std::string &kind = "load",
                        const char *before = "") {
    SCOPED_TRACE(std::string(access) + " " + std::to_string(scale));
    auto counters = count("mul.lo.u32 %r1, %r0, " + std::to_string(scale) +
                              ";\nmov.u32 %r2, s;\nadd.u32 %r1, %r1, %r2;\n" +
                              before + access,
                          {}, ".shared .align 16 .b8 s[8192];\n");
    EXPECT_COUNTERS(counters, {{"shared_" + kind + "_requests", 1},
                               {"shared_" + kind + "_wavefronts", wavefronts},
                               {"shared_" + kind + "_bytes", 32 * bytes},
                               {"global_load_requests", 0}});
  }
};

const char kLoad[] = "ld.global.f32 %f1, [%rd1];\n";
const char kLoad2[] = "ld.global.v2.f32 {%f1, %f2}, [%rd1];\n";
const char kLoad4[] = "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];\n";

TEST_F(CounterAccess, SectorsOfDeviceMemory) {
  expectSectors(4, 0, kLoad, 4, 4);    // 128 bytes
  expectSectors(0, 0, kLoad, 4, 1);    // all the same
  expectSectors(8, 0, kLoad, 4, 8);    // every second
  expectSectors(32, 0, kLoad, 4, 32);  // a sector each
  expectSectors(128, 0, kLoad, 4, 32); // a line each
  expectSectors(4, 4, kLoad, 4, 5);    // bytes 4 to 132
  expectSectors(4, 28, kLoad, 4, 5);
  expectSectors(4, 32, kLoad, 4, 4);
  expectSectors(8, 0, kLoad2, 8, 8);
  expectSectors(16, 0, kLoad4, 16, 16);
  expectSectors(16, 16, kLoad4, 16, 17);
  expectSectors(32, 0, kLoad4, 16, 32);
  expectSectors(1, 0, "ld.global.u8 %r1, [%rd1];\n", 1, 1);
  expectSectors(2, 2, "ld.global.u16 %r1, [%rd1];\n", 2, 3);
  expectSectors(4, 0, "ld.global.nc.u32 %r1, [%rd1];\n", 4, 4);
}

TEST_F(CounterAccess, SectorsInAnyOrder) {
  auto backwards = count("sub.u32 %r1, 31, %r0;\nmul.wide.u32 %rd1, %r1, 4;\n"
                         "add.u64 %rd1, %rd1, %rd0;\n" +
                         std::string(kLoad));
  EXPECT_EQ(backwards["global_load_sectors"], 4u);
  auto permuted = count("mul.lo.u32 %r1, %r0, 7;\nand.b32 %r1, %r1, 31;\n"
                        "mul.wide.u32 %rd1, %r1, 64;\n"
                        "add.u64 %rd1, %rd1, %rd0;\n" +
                        std::string(kLoad));
  EXPECT_EQ(permuted["global_load_sectors"], 32u);
  auto twice = count("and.b32 %r1, %r0, 3;\nmul.wide.u32 %rd1, %r1, 32;\n"
                     "add.u64 %rd1, %rd1, %rd0;\n" +
                     std::string(kLoad));
  EXPECT_EQ(twice["global_load_sectors"], 4u);
}

TEST_F(CounterAccess, StoresAndAtomicsAreApart) {
  auto counters =
      count(place(16) + "st.global.v4.u32 [%rd1], {%r0, %r0, %r0, %r0};\n"
                        "red.global.add.u32 [%rd0], 1;\n"
                        "atom.global.add.u32 %r1, [%rd1], 1;\n",
            threads(64, 3));
  EXPECT_COUNTERS(counters, {{"global_store_requests", 6},
                             {"global_store_sectors", 6 * 16},
                             {"global_store_bytes", 6 * 512},
                             {"global_atomic_requests", 12},
                             {"global_atomic_sectors", 6 * 1 + 6 * 16},
                             {"global_atomic_bytes", 12 * 128},
                             {"thread_atomic_global", 2 * 192},
                             {"warp_atomic_global", 12},
                             {"global_load_requests", 0}});
}

const char kShared[] = "ld.shared.f32 %f1, [%r1];\n";
const char kShared2[] = "ld.shared.v2.f32 {%f1, %f2}, [%r1];\n";
const char kShared4[] = "ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [%r1];\n";

TEST_F(CounterAccess, WavefrontsOfSharedMemory) {
  expectWavefronts(4, kShared, 4, 1);  // a bank each
  expectWavefronts(0, kShared, 4, 1);  // broadcast
  expectWavefronts(8, kShared, 4, 2);  // every second bank, twice
  expectWavefronts(12, kShared, 4, 1); // odd strides do not conflict
  expectWavefronts(16, kShared, 4, 4);
  expectWavefronts(32, kShared, 4, 8);
  expectWavefronts(128, kShared, 4, 32); // all in one bank
  expectWavefronts(132, kShared, 4, 1);  // padded by a word
  expectWavefronts(1, "ld.shared.u8 %r3, [%r1];\n", 1, 1);
  expectWavefronts(2, "ld.shared.u16 %r3, [%r1];\n", 2, 1);
  // By half-warps and quarter-warps.
  expectWavefronts(8, kShared2, 8, 2);
  expectWavefronts(0, kShared2, 8, 2);
  expectWavefronts(16, kShared2, 8, 4); // 16 lanes over 16 of 32 banks
  expectWavefronts(16, kShared4, 16, 4);
  expectWavefronts(32, kShared4, 16, 8);
  expectWavefronts(128, kShared4, 16, 32);
  expectWavefronts(4, "st.shared.u32 [%r1], %r0;\n", 4, 1, "store");
  expectWavefronts(64, "st.shared.u32 [%r1], %r0;\n", 4, 16, "store");
}

TEST_F(CounterAccess, LanesOfAnAtomicTakeTurns) {
  expectWavefronts(4, "red.shared.add.u32 [%r1], 1;\n", 4, 1, "atomic");
  expectWavefronts(0, "atom.shared.add.u32 %r3, [%r1], 1;\n", 4, 32, "atomic");
  expectWavefronts(8, "red.shared.add.u32 [%r1], 1;\n", 4, 2, "atomic");
}

// Word w of all lanes makes up one line of 128 bytes.
TEST_F(CounterAccess, LocalMemoryIsInterleaved) {
  auto counters =
      run(function(load(".visible .entry k(.param .u64 p) {\n"
                        ".reg .b32 %r<8>;\n.local .align 16 .b8 l[128];\n"
                        "mov.u32 %r0, %tid.x;\n"
                        "st.local.u32 [l], %r0;\n" // 4 sectors
                        "st.local.v4.u32 [l+16], {%r0, %r0, %r0, %r0};\n" // 16
                        "ld.local.u8 %r1, [l+3];\n"                       // 4
                        "mul.lo.u32 %r2, %r0, 4;\nmov.u32 %r3, l;\n"
                        "add.u32 %r3, %r3, %r2;\n"
                        "ld.local.u32 %r1, [%r3];\n" // a line each
                        "ret;\n}\n")),
          threads(64));
  EXPECT_COUNTERS(counters, {{"local_store_requests", 4},
                             {"local_store_sectors", 2 * (4 + 16)},
                             {"local_store_bytes", 64 * 20},
                             {"local_load_requests", 4},
                             {"local_load_sectors", 2 * (4 + 32)},
                             {"local_load_bytes", 64 * 5},
                             {"global_store_requests", 0}});
}

TEST_F(CounterAccess, ConstantsByWords) {
  const char *declaration = ".const .align 4 .b32 c[64] = {1, 2, 3};\n";
  auto same = count("ld.const.u32 %r1, [c+4];\n", {}, declaration);
  EXPECT_COUNTERS(same, {{"const_load_requests", 1},
                         {"const_load_words", 1},
                         {"const_load_bytes", 128},
                         {"global_load_requests", 0}});
  auto each = count("mul.wide.u32 %rd1, %r0, 4;\nmov.u64 %rd2, c;\n"
                    "add.u64 %rd1, %rd1, %rd2;\nld.const.u32 %r1, [%rd1];\n",
                    {}, declaration);
  EXPECT_EQ(each["const_load_words"], 32u);
}

// Where a generic address leads decides, lane by lane.
TEST_F(CounterAccess, GenericAddresses) {
  auto counters = count("mov.u32 %r2, s;\ncvt.u64.u32 %rd2, %r2;\n"
                        "cvta.shared.u64 %rd2, %rd2;\n"
                        "setp.lt.u32 %p1, %r0, 8;\n"
                        "selp.b64 %rd3, %rd2, %rd0, %p1;\n"
                        "mul.wide.u32 %rd1, %r0, 4;\n"
                        "add.u64 %rd3, %rd3, %rd1;\nld.u32 %r1, [%rd3];\n",
                        {}, ".shared .align 4 .b8 s[128];\n");
  EXPECT_COUNTERS(counters, {{"warp_load_generic", 1},
                             {"thread_load_generic", 32},
                             {"shared_load_requests", 1},
                             {"shared_load_wavefronts", 1},
                             {"shared_load_bytes", 32},
                             {"global_load_requests", 1},
                             {"global_load_sectors", 3},
                             {"global_load_bytes", 96}});
}

} // namespace
