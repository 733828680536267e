// Every opcode of the table runs in some test of this binary: when all tests
// were run, those that none executed are named. And the opcodes that belong to
// no family's own test.
#include "runtime/emulator/translate/Opcodes.h"
#include "test/emulator/TranslateTest.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace pascaline::emulator::test {
namespace {

class EveryOpcode : public ::testing::Environment {
  void TearDown() override {
    if (::testing::GTEST_FLAG(filter) != "*")
      return;
    for (std::string_view name : supportedOpcodes())
      EXPECT_TRUE(executedOpcodes.count(std::string(name)))
          << "no test executes '" << name << "'";
  }
};

[[maybe_unused]] ::testing::Environment *const kEveryOpcode =
    ::testing::AddGlobalTestEnvironment(new EveryOpcode);

TEST(TranslateOpcode, BorrowGoesUp) {
  const uint32_t kEdges[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0xffffffff};
  for (uint32_t low : kEdges)
    for (uint32_t minus : kEdges)
      for (uint32_t high : kEdges) {
        uint64_t whole = uint64_t(high) << 32 | low;
        EXPECT_EQ(
            evaluate<uint32_t>("sub.cc.u32 %d, %a, %b; subc.u32 %d, %c, 7;",
                               low, minus, high),
            uint32_t((whole - minus - (uint64_t(7) << 32)) >> 32));
      }
}

TEST(TranslateOpcode, CarryGoesUp) {
  const uint32_t kEdges[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff};
  for (uint32_t low : kEdges)
    for (uint32_t plus : kEdges)
      for (uint32_t high : kEdges) {
        uint64_t whole = uint64_t(high) << 32 | low;
        EXPECT_EQ(
            evaluate<uint32_t>("add.cc.u32 %d, %a, %b; addc.u32 %d, %c, 7;",
                               low, plus, high),
            uint32_t((whole + plus + (uint64_t(7) << 32)) >> 32));
      }
}

TEST(TranslateOpcode, HintsChangeNothing) {
  for (const char *hint : {"pmevent 3;", "prefetchu.L1 [%in];"})
    EXPECT_EQ(evaluate<uint32_t>(std::string(hint) + "mov.u32 %d, %a;", 5u), 5u)
        << hint;
}

TEST(TranslateOpcode, UniformLoadLoads) {
  EXPECT_EQ(evaluate<uint32_t>("ldu.global.u32 %d, [%in];", 0xdeadbeefu),
            0xdeadbeefu);
}

TEST(TranslateOpcode, TexturesGiveFourChannels) {
  hookCalls.clear();
  EXPECT_EQ(evaluate<uint32_t>(
                ".reg .b64 %texture; .reg .b32 %four<4>; mov.u64 %texture, 77;"
                "tex.1d.v4.u32.s32 {%four0, %four1, %four2, %four3},"
                " [%texture, {%a}]; mad.lo.u32 %d, %four3, 100, %four1;",
                5u),
            402u);
  ASSERT_EQ(hookCalls.size(), 1u);
  EXPECT_EQ(hookCalls[0].substr(0, 12), "texture 77 5");
}

TEST(TranslateOpcode, TrapsTrap) {
  for (std::string opcode : {"brkpt", "trap"}) {
    hookCalls.clear();
    Program program(withHeader(".visible .entry k() { " + opcode + "; ret; }"));
    ASSERT_TRUE(program.ok()) << program.log;
    program.run(nullptr);
    EXPECT_TRUE(std::any_of(hookCalls.begin(), hookCalls.end(),
                            [](const std::string &call) {
                              return call.find("trap") != std::string::npos;
                            }))
        << opcode;
  }
}

} // namespace
} // namespace pascaline::emulator::test
