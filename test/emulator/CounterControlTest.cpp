// Divergence: where lanes part and meet again, and what each group executes.
// fp32 instructions mark places in the kernels: %f1 is added to, multiplied,
// ...
#include "CounterTest.h"

namespace {

class CounterControl : public CounterTest {};

const char kAdd[] = "add.f32 %f1, %f1, %f2;\n";
const char kMul[] = "mul.f32 %f1, %f1, %f2;\n";
const char kFma[] = "fma.rn.f32 %f1, %f1, %f2, %f3;\n";

std::string operator+(const char *a, const std::string &b) {
  return std::string(a) + b;
}

TEST_F(CounterControl, BothSidesOfABranchMeet) {
  auto counters =
      count("setp.lt.u32 %p1, %r0, 40;\n@%p1 bra THEN;\n" + std::string(kAdd) +
                "bra END;\nTHEN:\n" + kMul + "END:\n" + kFma,
            threads(96));
  // Warp 0: all THEN; warp 1: 8 THEN, 24 else; warp 2: all else.
  EXPECT_COUNTERS(counters, {{"branches", 3},
                             {"branches_divergent", 1},
                             {"warp_fp32_add", 2},
                             {"thread_fp32_add", 56},
                             {"warp_fp32_mul", 2},
                             {"thread_fp32_mul", 40},
                             {"warp_fp32_fma", 3},
                             {"thread_fp32_fma", 96},
                             // else side: add and bra; THEN side: mul
                             {"warp_instructions_partial", 3},
                             {"warp_branch", 3 + 2}});
}

// The same, with the side that is not taken often behind the kernel's end.
TEST_F(CounterControl, BlocksOutOfOrder) {
  auto counters =
      count("setp.lt.u32 %p1, %r0, 8;\n@%p1 bra FAR;\nBACK:\n" +
            std::string(kFma) + "ret;\nFAR:\n" + kMul + "bra BACK;\n");
  EXPECT_COUNTERS(counters, {{"warp_fp32_mul", 1},
                             {"thread_fp32_mul", 8},
                             {"warp_fp32_fma", 1},
                             {"thread_fp32_fma", 32}});
}

// Lane i goes round i + 1 times; the others wait behind the loop.
TEST_F(CounterControl, TripCountsOfLanesDiffer) {
  auto counters = count("mov.u32 %r1, 0;\nLOOP:\n" + std::string(kAdd) +
                        "add.u32 %r1, %r1, 1;\nsetp.le.u32 %p1, %r1, %r0;\n"
                        "@%p1 bra LOOP;\n" +
                        kFma);
  EXPECT_COUNTERS(counters, {{"warp_fp32_add", 32},
                             {"thread_fp32_add", 32 * 33 / 2},
                             {"warp_fp32_fma", 1},
                             {"thread_fp32_fma", 32},
                             {"branches", 32},
                             {"branches_divergent", 31},
                             {"warp_instructions_partial", 31 * 4}});
}

// In each of 4 rounds other lanes take a branch: lanes are aligned by the
// round, not by how often each has been there.
TEST_F(CounterControl, BranchInALoop) {
  auto counters =
      count("mov.u32 %r1, 0;\nLOOP:\nand.b32 %r2, %r0, 3;\n"
            "setp.ne.u32 %p1, %r1, %r2;\n@%p1 bra SKIP;\n" +
            std::string(kAdd) + "SKIP:\n" + kFma +
            "add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p2, %r1, 4;\n@%p2 bra LOOP;\n");
  EXPECT_COUNTERS(counters, {{"warp_fp32_add", 4},
                             {"thread_fp32_add", 32},
                             {"warp_fp32_fma", 4},
                             {"thread_fp32_fma", 128},
                             {"branches", 8},
                             {"branches_divergent", 4}});
}

// A loop in a loop; the inner one is left by a break to code that belongs to
// the outer one, and both by a return.
TEST_F(CounterControl, BreakAndReturn) {
  auto counters = count(
      "mov.u32 %r1, 0;\nOUTER:\nmov.u32 %r2, 0;\nINNER:\n" + std::string(kAdd) +
      "setp.ge.u32 %p1, %r2, %r0;\n@%p1 bra BREAK;\n" // lane i in round i
      "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p2, %r2, 4;\n@%p2 bra INNER;\n"
      "bra LATCH;\nBREAK:\n" +
      kMul + "setp.eq.u32 %p3, %r0, 1;\n@%p3 ret;\nLATCH:\n" + kFma +
      "add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p4, %r1, 3;\n@%p4 bra OUTER;\n");
  // Round 1 of the outer loop has 32 lanes, the others 31. Of the inner one:
  // lanes 0..3 break in round 0..3, lanes 4.. stay for 4 rounds.
  EXPECT_COUNTERS(counters, {{"warp_fp32_add", 3 * 4},
                             {"thread_fp32_add",
                              (32 + 31 + 30 + 29) + 2 * (31 + 30 + 30 + 29)},
                             {"warp_fp32_mul", 3},
                             {"thread_fp32_mul", 4 + 3 + 3},
                             {"warp_fp32_fma", 3},
                             {"thread_fp32_fma", 31 * 3}});
}

// Lanes that return early keep nobody waiting.
TEST_F(CounterControl, EarlyReturn) {
  auto counters =
      count("setp.lt.u32 %p1, %r0, 16;\n@%p1 bra OUT;\n"
            "setp.lt.u32 %p2, %r0, 24;\n@%p2 bra ELSE;\n" +
            std::string(kAdd) + "setp.eq.u32 %p3, %r0, 31;\n@%p3 bra OUT;\n" +
            kMul + "ELSE:\n" + kFma + "OUT:\n");
  EXPECT_COUNTERS(counters, {{"thread_fp32_add", 8},
                             {"warp_fp32_add", 1},
                             {"thread_fp32_mul", 7},
                             {"warp_fp32_mul", 1},
                             {"thread_fp32_fma", 15},
                             {"warp_fp32_fma", 1},
                             // all meet again at the last ret
                             {"warp_control", 1},
                             {"thread_control", 32},
                             {"branches_divergent", 3}});
}

TEST_F(CounterControl, ExitByPredicate) {
  auto counters =
      count("setp.lt.u32 %p1, %r0, 16;\n@%p1 exit;\n" + std::string(kAdd),
            threads(64));
  EXPECT_COUNTERS(counters, {{"warp_fp32_add", 2},
                             {"thread_fp32_add", 48},
                             {"warp_control", 4},
                             {"thread_control", 64},
                             {"thread_instructions_off", 48},
                             {"branches", 0},
                             {"warp_instructions_partial", 2}});
}

TEST_F(CounterControl, EverySideOfASwitch) {
  auto counters = count("and.b32 %r1, %r0, 3;\nts: .branchtargets A, B, C, C;\n"
                        "brx.idx %r1, ts;\nA:\n" +
                        std::string(kAdd) + "bra END;\nB:\n" + kMul +
                        "bra END;\nC:\n" + kFma + "END:\n" + kFma);
  EXPECT_COUNTERS(counters, {{"thread_fp32_add", 8},
                             {"thread_fp32_mul", 8},
                             {"thread_fp32_fma", 16 + 32},
                             {"warp_fp32_fma", 2},
                             {"branches", 1},
                             {"branches_divergent", 1}});
}

TEST_F(CounterControl, BarriersInALoop) {
  auto counters =
      count("mov.u32 %r1, 0;\nLOOP:\nbar.sync 0;\n" + std::string(kAdd) +
                "bar.sync 0;\nadd.u32 %r1, %r1, 1;\n"
                "setp.lt.u32 %p1, %r1, 5;\n@%p1 bra LOOP;\n",
            threads(70, 3));
  EXPECT_COUNTERS(counters, {{"warp_barrier", 3 * 3 * 10},
                             {"thread_barrier", 3 * 70 * 10},
                             {"barriers_completed", 3 * 10},
                             {"warp_fp32_add", 3 * 3 * 5},
                             {"thread_fp32_add", 3 * 70 * 5},
                             {"warp_instructions_partial", 0},
                             {"branches_divergent", 0}});
}

// Without .sync the lanes of a shuffle are those on the same branch.
TEST_F(CounterControl, ShufflesOnABranch) {
  auto counters =
      count("setp.lt.u32 %p1, %r0, 16;\n@%p1 bra LOW;\n"
            "shfl.bfly.b32 %r1, %r0, 1, 31;\nbra END;\nLOW:\n"
            "shfl.bfly.b32 %r1, %r0, 2, 31;\n"
            "shfl.bfly.b32 %r1, %r1, 4, 31;\nEND:\n" +
            std::string(kFma) +
            "mul.wide.u32 %rd1, %r0, 4;\nadd.u64 %rd1, %rd1, %rd0;\n"
            "st.global.u32 [%rd1], %r1;\n");
  EXPECT_COUNTERS(counters, {{"warp_shuffle", 3},
                             {"thread_shuffle", 48},
                             {"warp_fp32_fma", 1},
                             {"global_store_requests", 1},
                             {"global_store_sectors", 4}});
  std::vector<uint32_t> values = download<uint32_t>(buffer, 32);
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(values[i], i < 16 ? i ^ 6 : i ^ 1);
}

// Half a warp waits at a barrier for the other half's, on another branch.
TEST_F(CounterControl, BarriersOnBothSides) {
  auto counters = count("setp.lt.u32 %p1, %r0, 16;\n@%p1 bra LOW;\n"
                        "bar.sync 0;\nbra END;\nLOW:\n"
                        "bar.sync 0;\nEND:\n" +
                        std::string(kFma));
  EXPECT_COUNTERS(counters, {{"warp_barrier", 2},
                             {"thread_barrier", 32},
                             {"barriers_completed", 1},
                             {"warp_fp32_fma", 1},
                             {"thread_fp32_fma", 32}});
}

// The first instruction is where a loop begins.
TEST_F(CounterControl, LoopFromTheStart) {
  auto counters =
      run(function(load(".visible .entry k(.param .u64 p) {\n"
                        ".reg .b32 %r<4>; .reg .pred %p1; .reg .f32 %f<4>;\n"
                        "LOOP:\n" +
                        std::string(kAdd) +
                        "add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 7;\n"
                        "@%p1 bra LOOP;\nret;\n}\n")),
          threads(40));
  EXPECT_COUNTERS(
      counters,
      {{"warp_fp32_add", 14}, {"thread_fp32_add", 280}, {"warp_control", 2}});
}

// Lanes that call from two places come one group after the other; what they do
// in the function counts, and they meet behind the calls.
TEST_F(CounterControl, Calls) {
  const std::string square =
      ".func (.reg .f32 %out) square(.reg .f32 %in) {\n"
      ".reg .pred %q; .reg .f32 %t;\nsetp.lt.f32 %q, %in, 0f40000000;\n"
      "@%q bra SMALL;\nmul.f32 %t, %in, %in;\nmov.f32 %out, %t;\nret;\n"
      "SMALL:\nadd.f32 %out, %in, %in;\nret;\n}\n";
  auto counters = count("cvt.rn.f32.u32 %f1, %r0;\nsetp.lt.u32 %p1, %r0, 4;\n"
                        "@%p1 bra LOW;\ncall (%f2), square, (%f1);\nbra END;\n"
                        "LOW:\ncall (%f2), square, (%f1);\nEND:\n"
                        "fma.rn.f32 %f3, %f2, %f2, %f2;\n",
                        {}, square);
  EXPECT_COUNTERS(counters, {{"warp_fp32_mul", 2}, // lanes 4.., lanes 2 and 3
                             {"thread_fp32_mul", 30},
                             {"warp_fp32_add", 1}, // lanes 0 and 1
                             {"thread_fp32_add", 2},
                             {"warp_fp32_fma", 1},
                             {"thread_fp32_fma", 32},
                             {"branches", 3},
                             {"branches_divergent", 2}});
}

TEST_F(CounterControl, GuardedCall) {
  const std::string inner = ".func inner(.reg .b32 %x) {\n.reg .f32 %f<4>;\n" +
                            std::string(kAdd) + "ret;\n}\n";
  auto counters = count("setp.lt.u32 %p1, %r0, 5;\n@%p1 call inner, (%r0);\n" +
                            std::string(kFma),
                        threads(64), inner + ".func unused() {\nret;\n}\n");
  EXPECT_COUNTERS(counters, {{"warp_fp32_add", 1},
                             {"thread_fp32_add", 5},
                             {"warp_fp32_fma", 2},
                             {"thread_fp32_fma", 64},
                             {"warp_control", 2 + 2 + 1},
                             {"thread_control", 64 + 5 + 5}});
}

} // namespace
