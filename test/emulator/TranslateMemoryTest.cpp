// Loads, stores, address spaces and atomics.
#include "test/emulator/TranslateTest.h"

#include <gtest/gtest.h>

namespace pascaline::emulator::test {
namespace {

// Runs `body` with %p holding the address of a buffer that begins as `words`.
std::vector<uint32_t> run(const std::string &declarations,
                          const std::string &body,
                          std::vector<uint32_t> words) {
  Memory::instance().reset();
  Program program(
      withHeader(declarations +
                 ".visible .entry k(.param .u64 buffer) {\n"
                 ".reg .pred %q<9>; .reg .b16 %h<9>; .reg .b32 %r<20>;"
                 ".reg .b64 %p, %rd<20>; .reg .f32 %f<9>;"
                 ".reg .f64 %fd<9>;\nld.param.u64 %p, [buffer];\n" +
                 body + "\nret; }"));
  EXPECT_TRUE(program.ok()) << program.log;
  if (!program.ok())
    return {};
  uint64_t address = Memory::instance().allocate(4 * words.size());
  std::memcpy(reinterpret_cast<void *>(address), words.data(),
              4 * words.size());
  program.run(&address);
  std::memcpy(words.data(), reinterpret_cast<void *>(address),
              4 * words.size());
  return words;
}

using Words = std::vector<uint32_t>;

TEST(TranslateMemory, LoadsExtendToWideRegisters) {
  EXPECT_EQ(run("",
                "ld.global.u8 %r1, [%p]; ld.global.s8 %r2, [%p];"
                "ld.global.s16 %r3, [%p]; ld.global.b16 %r4, [%p];"
                "st.global.u32 [%p+4], %r1; st.global.u32 [%p+8], %r2;"
                "st.global.u32 [%p+12], %r3; st.global.u32 [%p+16], %r4;"
                "ld.global.s32 %rd1, [%p+8]; st.global.u64 [%p+24], %rd1;",
                Words(8, 0x8283f4f5)),
            (Words{0x8283f4f5, 0xf5, 0xfffffff5, 0xfffff4f5, 0xf4f5, 0x8283f4f5,
                   0xfffffff5, 0xffffffff}));
}

TEST(TranslateMemory, StoresTruncate) {
  EXPECT_EQ(run("",
                "mov.u32 %r1, 0x12345678; st.global.u8 [%p+1], %r1;"
                "st.global.b16 [%p+6], %r1;",
                Words(2, 0)),
            (Words{0x7800, 0x56780000}));
}

TEST(TranslateMemory, VectorsAndConstantDisplacements) {
  EXPECT_EQ(run("",
                "ld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%p];"
                "add.u64 %rd1, %p, 64;"
                "st.global.v4.f32 [%rd1+-48], {%f4, %f3, %f2, %f1};"
                "ld.global.v2.u32 {%r1, _}, [%p+8];"
                "st.global.v2.u32 [%p+32], {%r1, 7};",
                Words{1, 2, 3, 4, 0, 0, 0, 0, 0, 0}),
            (Words{1, 2, 3, 4, 4, 3, 2, 1, 3, 7}));
}

TEST(TranslateMemory, CacheHintsAreAccepted) {
  EXPECT_EQ(run("",
                "ld.global.ca.u32 %r1, [%p]; ld.volatile.global.u32 %r2, [%p];"
                "ld.global.ca.nc.u32 %r3, [%p];"
                "add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3;"
                "st.global.wb.u32 [%p+4], %r1;"
                "st.global.wt.u32 [%p+8], %r1;"
                "prefetch.global.L2 [%p]; membar.gl;",
                Words{3, 0, 0}),
            (Words{3, 9, 9}));
}

TEST(TranslateMemory, SharedVariablesHaveOffsets) {
  EXPECT_EQ(run(".shared .align 4 .b8 first[8];",
                ".shared .align 16 .f32 tile[4];"
                "st.shared.u32 [first+4], 11; st.shared.u32 [tile+12], 22;"
                "mov.u64 %rd1, tile; add.u64 %rd1, %rd1, 8;"
                "ld.shared.u32 %r1, [%rd1+4]; mov.u32 %r2, first;"
                "ld.shared.u32 %r3, [%r2+4];"
                "cvta.shared.u64 %rd2, %rd1; ld.u32 %r4, [%rd2+4];"
                "cvta.to.shared.u64 %rd3, %rd2; sub.u64 %rd4, %rd3, %rd1;"
                "isspacep.shared %q1, %rd2; isspacep.global %q2, %rd2;"
                "selp.u32 %r5, 1, 0, %q1; selp.u32 %r6, 1, 0, %q2;"
                "st.global.v4.u32 [%p], {%r1, %r3, %r4, %r5};"
                "st.global.u32 [%p+16], %r6; st.global.u32 [%p+20], %rd4;",
                Words(6, 99)),
            (Words{22, 11, 22, 1, 0, 0}));
}

TEST(TranslateMemory, LocalMemoryThroughAnyAddress) {
  EXPECT_EQ(run("",
                ".local .align 8 .b8 depot[64]; .reg .b64 %SP, %SPL;"
                "mov.u64 %SPL, depot; cvta.local.u64 %SP, %SPL;"
                "st.local.u32 [%SPL+60], 5; ld.u32 %r1, [%SP+60];"
                "st.u32 [%SP], 6; ld.local.u32 %r2, [depot];"
                "st.global.v2.u32 [%p], {%r1, %r2};",
                Words(2, 0)),
            (Words{5, 6}));
}

TEST(TranslateMemory, ModuleVariablesAndInitializers) {
  EXPECT_EQ(
      run(".const .align 4 .u32 table[4] = {7, 8, -1};"
          ".global .align 8 .u64 pointers[2] = {generic(table)+4, counter};"
          ".global .u32 counter = 41;",
          "ld.const.u32 %r1, [table+4]; ld.const.u32 %r2, [table+8];"
          "ld.global.u64 %rd1, [pointers]; ld.u32 %r3, [%rd1];"
          "ld.global.u64 %rd2, [pointers+8]; ld.global.u32 %r4, [%rd2];"
          "mov.u64 %rd3, counter; st.global.u32 [%rd3], 1;"
          "ld.global.u32 %r5, [counter];"
          "st.global.v4.u32 [%p], {%r1, %r2, %r3, %r4};"
          "st.global.u32 [%p+16], %r5;",
          Words(5, 0)),
      (Words{8, ~0u, 8, 41, 1}));
}

TEST(TranslateMemory, WildAddressesStayInTheWindow) {
  // Bits above the window are dropped, so this lands in the buffer.
  EXPECT_EQ(run("",
                "add.u64 %rd1, %p, 0x4000000000000000;"
                "st.global.u32 [%rd1], 3;",
                Words{0}),
            Words{3});
}

TEST(TranslateMemory, AtomicsReturnTheOldValue) {
  for (const char *space : {"global", "shared"}) {
    std::string text =
        "mov.u64 %rd1, %p; ld.global.v2.u32 {%r8, %r9}, [%p];"
        "ld.global.v2.u32 {%r10, %r11}, [%p+8];"
        "ld.global.v2.u32 {%r12, %r13}, [%p+16];"
        "mov.u64 %rd2, cells; st.shared.v2.u32 [%rd2], {%r8, %r9};"
        "st.shared.v2.u32 [%rd2+8], {%r10, %r11};"
        "st.shared.v2.u32 [%rd2+16], {%r12, %r13};"
        "atom.S.add.u32 %r1, [B], 5; atom.S.min.s32 %r2, [B+4], -3;"
        "atom.S.inc.u32 %r3, [B+8], 7; atom.S.dec.u32 %r4, [B+12], 9;"
        "atom.S.cas.b32 %r5, [B+16], 50, 51; atom.S.exch.b32 %r6, [B+20], 61;"
        "red.S.add.u32 [B], 100; red.S.or.b32 [B+16], 0x100;";
    bool shared = space == std::string("shared");
    for (auto [from, to] : {std::pair<std::string, std::string>{"S", space},
                            {"[B", shared ? "[%rd2" : "[%rd1"}})
      for (size_t at; (at = text.find(from == "S" ? "." + from + "." : from)) !=
                      std::string::npos;)
        text.replace(at, from == "S" ? 3 : 2,
                     from == "S" ? "." + to + "." : to);
    if (shared)
      text += "ld.shared.v2.u32 {%r8, %r9}, [%rd2];"
              "ld.shared.v2.u32 {%r10, %r11}, [%rd2+8];"
              "ld.shared.v2.u32 {%r12, %r13}, [%rd2+16];"
              "st.global.v2.u32 [%p], {%r8, %r9};"
              "st.global.v2.u32 [%p+8], {%r10, %r11};"
              "st.global.v2.u32 [%p+16], {%r12, %r13};";
    text += "st.global.v2.u32 [%p+24], {%r1, %r2};"
            "st.global.v2.u32 [%p+32], {%r3, %r4};"
            "st.global.v2.u32 [%p+40], {%r5, %r6};";
    EXPECT_EQ(
        run(".shared .align 8 .b8 cells[32];", text,
            Words{10, 20, 7, 0, 50, 60, 0, 0, 0, 0, 0, 0}),
        (Words{115, uint32_t(-3), 0, 9, 51 | 0x100, 61, 10, 20, 7, 0, 50, 60}))
        << space;
  }
}

TEST(TranslateMemory, FloatAtomics) {
  uint32_t one = uint32_t(toBits(1.0f)), three = uint32_t(toBits(3.0f));
  EXPECT_EQ(run("",
                "mov.f32 %f1, 0f40000000; red.global.add.f32 [%p], %f1;"
                "atom.add.f32 %f2, [%p], %f1; st.global.f32 [%p+4], %f2;",
                Words{one, 0}),
            (Words{uint32_t(toBits(5.0f)), three}));
}

TEST(TranslateMemory, RefusesWhatCannotBe) {
  EXPECT_EQ(instructionRefusal("st.const.u32 [%rd1], %r1;"),
            "line 3: 'st.const.u32': .const cannot be written");
  EXPECT_EQ(instructionRefusal("ld.param.u64 %rd1, [p+4];"),
            "line 3: access to bytes 4 to 12 of parameter 'p', which has 8");
  EXPECT_EQ(instructionRefusal("ld.param.u32 %r1, [p+-4];"),
            "line 3: access to bytes -4 to 0 of parameter 'p', which has 8");
  EXPECT_EQ(instructionRefusal("ld.global.v4.f64 {%fd1, %fd2, %fd3, %fd4}, "
                               "[%rd1];"),
            "line 3: 'ld.global.v4.f64': accesses more than 16 bytes");
  EXPECT_EQ(instructionRefusal("ld.global.u32 %r1, [%r2];"),
            "line 3: a 32-bit register cannot address global memory");
  EXPECT_EQ(instructionRefusal("ld.global.u64 %r1, [%rd2];"),
            "line 3: register '%r1' of type .b32 cannot take the .u64 result "
            "of 'ld.global.u64'");
  EXPECT_NE(instructionRefusal("st.param.u64 [p], %rd1;"), "");
  EXPECT_NE(instructionRefusal("atom.global.add.b32 %r1, [%rd1], 1;"), "");
  EXPECT_NE(instructionRefusal("ld.global.u32 %r1, %rd1;"), "");
  EXPECT_NE(instructionRefusal("ld.shared.u32 %r1, [p];"), "");
}

} // namespace
} // namespace pascaline::emulator::test
