// Which accesses the sanitizer checks at once, and what it knows of a kernel.
#include "runtime/emulator/translate/AccessGroups.h"
#include "runtime/emulator/ptx/Parser.h"

#include <gtest/gtest.h>

using namespace pascaline::emulator;

namespace {

class AccessGroups : public testing::Test {
protected:
  void parse(const std::string &body) {
    text = ".version 6.0\n.target sm_61\n.address_size 64\n"
           ".func f() { ret; }\n.visible .entry k(.param .u64 p) {\n.shared "
           ".align 16 .b8 s[64];\n"
           ".reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n" +
           body + "ret;\n}\n";
    module = ptx::parse(text, diagnostic);
    ASSERT_TRUE(module) << diagnostic.text();
    function = &module->functions.back();
  }
  // The displacements of the group that the first instruction begins.
  std::vector<int64_t> group(const std::string &body) {
    parse(body);
    std::vector<int64_t> all;
    for (const auto &member : AccessGroup::startingAt(*function, 0).members)
      all.push_back(member.displacement);
    return all;
  }
  KernelInfo info(const std::string &body) {
    parse(body);
    KernelInfo all;
    noteAccesses(*function, all);
    return all;
  }

  std::string text;
  Diagnostic diagnostic;
  std::unique_ptr<ptx::Module> module;
  const ptx::Function *function = nullptr;
};

using List = std::vector<int64_t>;
#define FIRST "ld.shared.u32 %r1, [%r0+4];\n"
#define NEXT "ld.shared.u32 %r2, [%r0+-8];\n"

TEST_F(AccessGroups, TakesLoadsFromOneBaseOnAStraightLine) {
  EXPECT_EQ(group(FIRST "add.u32 %r3, %r1, 1;\nld.shared.u32 %r4, [%r5+12];\n"
                        "ld.global.u32 %r4, [%rd0];\nst.global.u32 [%rd0], %r4;"
                        "\n" NEXT "ld.shared.v2.u32 {%r6, %r7}, [%r0+8];\n"),
            (List{4, -8, 8}));
  EXPECT_EQ(group("st.global.u32 [%rd0], %r1;\nld.shared.u32 %r2, [%r0];\n"
                  "st.global.u32 [%rd0+4], %r1;\n"),
            (List{0, 4}));
  EXPECT_EQ(group("ld.shared.u32 %r1, [s+4];\nld.shared.u32 %r1, [s+16];\n"),
            (List{4, 16}));
}

TEST_F(AccessGroups, EndsWhereTheBaseChanges) {
  EXPECT_EQ(group(FIRST "add.u32 %r0, %r0, 4;\n" NEXT), List{4});
  EXPECT_EQ(group("ld.shared.u32 %r0, [%r0+4];\n" NEXT), List{4});
  EXPECT_EQ(group(FIRST "ld.shared.v2.u32 {%r3, %r0}, [%r0+8];\n" NEXT),
            (List{4, 8}));
}

TEST_F(AccessGroups, EndsWhereTheThreadMayGoElsewhereOrIsOrdered) {
  for (const char *end :
       {"@%p1 bra L;\n", "L:\n", "bar.sync 0;\n", "barrier.sync 0;\n",
        "membar.cta;\n", "fence.acq_rel.cta;\n", "call f;\n", "exit;\n",
        "vote.sync.any.pred %p2, %p3, -1;\n", "activemask.b32 %r3;\n",
        "red.shared.add.u32 [%r3], 1;\n", "@%p1 ret;\n", "trap;\n",
        "shfl.sync.idx.b32 %r3, %r4, 0, 31, -1;\n",
        "ld.volatile.shared.u32 %r3, [%r4];\n"}) {
    std::string label = end[0] == 'L' ? "" : "L:\n";
    EXPECT_EQ(group(std::string(FIRST) + end + NEXT + label), List{4}) << end;
  }
}

TEST_F(AccessGroups, EndsAtAccessesOfTheOtherKindToTheSameMemory) {
  EXPECT_EQ(group(FIRST "st.shared.u32 [%r3], %r4;\n" NEXT), List{4});
  EXPECT_EQ(group(FIRST "st.u32 [%rd3], %r4;\n" NEXT), List{4});
  EXPECT_EQ(group("st.shared.u32 [%r0], %r1;\nld.shared.u32 %r2, [%r3];\n"
                  "st.shared.u32 [%r0+4], %r1;\n"),
            List{0});
}

TEST_F(AccessGroups, KeepsPredicatesApart) {
  EXPECT_EQ(group("@%p1 " FIRST "@%p1 " NEXT NEXT "@!%p1 " NEXT "@%p2 " NEXT),
            (List{4, -8}));
  EXPECT_EQ(group("@%p1 " FIRST "setp.eq.u32 %p1, %r4, 0;\n@%p1 " NEXT),
            List{4});
}

// One test of alignment stands for all.
TEST_F(AccessGroups, LeavesOutWhatIsAlignedOtherwise) {
  EXPECT_EQ(group(FIRST "ld.shared.u32 %r2, [%r0+6];\n" NEXT), (List{4, -8}));
  EXPECT_EQ(group(FIRST "ld.shared.u64 %rd2, [%r0+4];\n"
                        "ld.shared.u64 %rd2, [%r0+8];\n"),
            (List{4, 4}));
}

TEST_F(AccessGroups, VolatileAccessesStandAlone) {
  EXPECT_EQ(group("ld.volatile.shared.u32 %r1, [%r0+4];\n" NEXT), List{4});
}

TEST_F(AccessGroups, KnowTheWidths) {
  KernelInfo all = info("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd0];\n"
                        "st.global.u16 [%rd0], 1;\nst.shared.u64 [%r0], 1;\n");
  EXPECT_EQ(all.globalUnitShift, 4);
  EXPECT_EQ(all.globalGranuleShift, 1);
  EXPECT_EQ(all.sharedGranuleShift, 3);
}

TEST_F(AccessGroups, KnowWhatOrdersSomeThreads) {
  EXPECT_FALSE(info("bar.sync 0;\nst.shared.u32 [%r0], 1;\nmembar.gl;\n"
                    "red.global.add.u32 [%rd0], 1;\n"
                    "bar.red.popc.u32 %r1, 0, %p1;\n")
                   .ordersPartly);
  for (const char *each :
       {"bar.sync 1, 32;\n", "bar.arrive 1, 32;\n", "bar.warp.sync -1;\n",
        "bar.red.popc.u32 %r1, 0, 32, %p1;\n",
        "shfl.sync.idx.b32 %r3, %r4, 0, 31, -1;\n",
        "vote.sync.any.pred %p1, %p2, -1;\n", "red.shared.add.u32 [%r3], 1;\n",
        "red.add.u32 [%rd3], 1;\n", "st.volatile.shared.u32 [%r3], 1;\n"})
    EXPECT_TRUE(info(each).ordersPartly) << each;
}

} // namespace
