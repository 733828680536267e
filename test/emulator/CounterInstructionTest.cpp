// Instructions by class, of threads and of warps, and what follows from the
// launch's shape.
#include "CounterTest.h"

namespace {

class CounterInstruction : public CounterTest {};

TEST_F(CounterInstruction, EmptyKernel) {
  auto counters = count("", threads(256, 7));
  EXPECT_COUNTERS(counters, {{"launches", 1},
                             {"blocks", 7},
                             {"warps", 7 * 8},
                             {"threads", 7 * 256},
                             {"warp_instructions", 3 * 56},
                             {"thread_instructions", 3 * 1792},
                             {"warp_load_param", 56},
                             {"thread_load_param", 1792},
                             {"warp_move", 56},
                             {"warp_control", 56},
                             {"issue_core", 56},
                             {"issue_memory", 56},
                             {"issue_control", 56},
                             {"warp_instructions_partial", 0},
                             {"thread_instructions_off", 0},
                             {"branches", 0},
                             {"barriers_completed", 0}});
}

// 33 threads are two warps, of which the second has one lane.
TEST_F(CounterInstruction, PartialWarp) {
  auto counters = count("st.global.u32 [%rd0], %r0;\n", threads(33, 2));
  EXPECT_COUNTERS(counters, {{"warps", 4},
                             {"threads", 66},
                             {"warp_instructions", 4 * 4},
                             {"thread_instructions", 4 * 66},
                             {"warp_instructions_partial", 0},
                             {"global_store_requests", 4},
                             {"global_store_bytes", 4 * 66}});
}

// Threads are numbered x first: a 16 x 4 block has two rows in a warp.
TEST_F(CounterInstruction, TwoDimensionalBlock) {
  auto counters = count("mov.u32 %r1, %tid.y;\nmul.lo.u32 %r1, %r1, 1024;\n"
                        "mad.lo.u32 %r1, %r0, 4, %r1;\n"
                        "cvt.u64.u32 %rd1, %r1;\nadd.u64 %rd1, %rd1, %rd0;\n"
                        "ld.global.f32 %f1, [%rd1];\n",
                        {{2, 3, 1}, {16, 4, 1}});
  EXPECT_COUNTERS(counters, {{"blocks", 6},
                             {"warps", 12},
                             {"threads", 384},
                             {"global_load_requests", 12},
                             {"global_load_sectors", 12 * 4},
                             {"thread_load_global", 384}});
}

TEST_F(CounterInstruction, Classes) {
  const std::pair<const char *, const char *> cases[] = {
      {"fp32_add", "add.f32 %f1, %f1, %f2;\nsub.ftz.f32 %f1, %f1, %f2;\n"},
      {"fp32_mul", "mul.f32 %f1, %f1, %f2;\nmul.rz.f32 %f1, %f1, %f2;\n"},
      {"fp32_fma",
       "fma.rn.f32 %f1, %f1, %f2, %f3;\nmad.rn.f32 %f1, %f1, %f2, %f3;\n"},
      {"fp32_minmax", "max.f32 %f1, %f1, %f2;\nneg.f32 %f1, %f2;\n"},
      {"fp32_div",
       "div.rn.f32 %f1, %f1, %f2;\ndiv.approx.f32 %f1, %f1, %f2;\n"},
      {"sfu", "ex2.approx.f32 %f1, %f2;\nrcp.approx.f32 %f1, %f2;\n"},
      {"fp64", "add.f64 %d1, %d1, %d2;\nfma.rn.f64 %d1, %d1, %d2, %d1;\n"},
      {"int_add", "add.u32 %r1, %r1, %r2;\nmin.s32 %r1, %r1, %r2;\n"},
      {"int_mul",
       "mul.lo.s32 %r1, %r1, %r2;\nmad.lo.s32 %r1, %r1, %r2, %r3;\n"},
      {"int_div", "div.s32 %r1, %r1, %r2;\nrem.u32 %r1, %r1, %r2;\n"},
      {"int_logic", "and.b32 %r1, %r1, %r2;\nnot.b32 %r1, %r1;\n"},
      {"int_shift", "shl.b32 %r1, %r1, 3;\nshr.u32 %r1, %r1, 1;\n"},
      {"int_bits", "popc.b32 %r1, %r2;\nprmt.b32 %r1, %r1, %r2, 0x1234;\n"},
      {"dot", "dp4a.s32.s32 %r1, %r2, %r3, %r1;\n"
              "dp2a.lo.s32.s32 %r1, %r2, %r3, %r1;\n"},
      {"convert", "cvt.rn.f32.s32 %f1, %r1;\ncvt.u64.u32 %rd3, %r1;\n"},
      {"compare",
       "setp.lt.f32 %p1, %f1, %f2;\nset.lt.u32.s32 %r1, %r2, %r3;\n"},
      {"select", "selp.b32 %r1, %r2, %r3, %p1;\nselp.f32 %f1, %f1, %f2, %p1;"},
      {"move", "mov.b32 %r1, %f1;\ncvta.to.global.u64 %rd2, %rd0;\n"},
      {"barrier", "bar.sync 0;\nbarrier.sync 1;\n"},
      {"vote", "vote.any.pred %p1, %p2;\nactivemask.b32 %r1;\n"},
      {"fence", "membar.cta;\nmembar.gl;\n"},
      {"prefetch", "prefetch.global.L1 [%rd0];\nprefetch.global.L2 [%rd0];\n"},
      {"shuffle", "shfl.bfly.b32 %r1, %r1, 1, 31;\n"
                  "shfl.sync.idx.b32 %r1, %r1, 1, 31, -1;\n"},
  };
  for (auto &[name, instructions] : cases) {
    SCOPED_TRACE(name);
    auto counters =
        run(function(load(
                std::string(".visible .entry k(.param .u64 p) {\n"
                            ".reg .pred %p<8>; .reg .b32 %r<8>; .reg .b64 "
                            "%rd<8>; .reg .f32 %f<8>; .reg .f64 %d<8>;\n") +
                instructions + "}\n")),
            threads(96, 2));
    EXPECT_COUNTERS(counters, {{std::string("warp_") + name, 12},
                               {std::string("thread_") + name, 2 * 192},
                               {"warp_instructions", 12},
                               {"thread_instructions", 2 * 192}});
  }
}

// A warp issues a guarded instruction even when no lane executes it.
TEST_F(CounterInstruction, Predication) {
  auto counters = count("setp.lt.u32 %p1, %r0, 40;\n"
                        "@%p1 add.u32 %r1, %r1, 1;\n"
                        "@!%p1 add.u32 %r1, %r1, 2;\n"
                        "@%p1 st.global.u32 [%rd0], %r1;\n",
                        threads(96));
  EXPECT_COUNTERS(counters, {{"warp_int_add", 6},
                             {"thread_int_add", 40 + 56},
                             {"warp_store_global", 3},
                             {"thread_store_global", 40},
                             {"global_store_requests", 2},
                             {"global_store_bytes", 160},
                             {"thread_instructions_off", 56 + 40 + 56},
                             {"thread_instructions", 4 * 96 + 96 + 40},
                             {"warp_instructions_partial", 0},
                             {"branches", 0},
                             {"issue_memory", 3 + 3}});
}

// More accesses in a row than a block has slots.
TEST_F(CounterInstruction, LongBlocks) {
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text += "ld.global.u32 %r1, [%rd0+" + std::to_string(4 * i) +
            "];\n@%p1 add.u32 %r2, %r2, 1;\n";
  auto counters = count(text, threads(64));
  EXPECT_COUNTERS(counters, {{"global_load_requests", 2000},
                             {"global_load_sectors", 2000},
                             {"thread_load_global", 64000},
                             {"warp_int_add", 2000},
                             {"thread_int_add", 0},
                             {"thread_instructions_off", 64000}});
}

} // namespace
