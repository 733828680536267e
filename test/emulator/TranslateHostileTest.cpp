// Text that an attacker, or a bug elsewhere, may write: translation refuses it
// or makes code of it, and LLVM's verifier agrees with that code.
#include "test/emulator/TranslateTest.h"

#include <gtest/gtest.h>
#include <iterator>
#include <random>

namespace pascaline::emulator::test {
namespace {

const char *const kPieces[] = {
    "add",   "sub",      "mul",   "mad",        "fma",      "div",      "rem",
    "abs",   "neg",      "min",   "max",        "rcp",      "sqrt",     "ex2",
    "and",   "or",       "not",   "cnot",       "shl",      "shr",      "shf",
    "lop3",  "prmt",     "bfe",   "bfi",        "bfind",    "brev",     "popc",
    "setp",  "set",      "selp",  "slct",       "mov",      "cvt",      "cvta",
    "ld",    "st",       "atom",  "red",        "membar",   "bar",      "shfl",
    "vote",  "bra",      "brx",   "call",       "ret",      "isspacep", "dp4a",
    "testp", "copysign", "addc",  "madc",       "sad",      "mul24",    "clz",
    "rsqrt", "barrier",  "fence", "activemask", "prefetch", "dp2a",     "exit",
};
const char *const kModifiers[] = {
    "b8",   "b16",      "b32",    "b64",      "u8",      "u16",     "u32",
    "u64",  "s8",       "s16",    "s32",      "s64",     "f16",     "f16x2",
    "f32",  "f64",      "pred",   "bf16",     "lo",      "hi",      "wide",
    "rn",   "rz",       "rm",     "rni",      "rzi",     "ftz",     "sat",
    "cc",   "approx",   "full",   "eq",       "lt",      "ltu",     "and",
    "or",   "global",   "shared", "local",    "param",   "const",   "v2",
    "v4",   "nc",       "to",     "volatile", "add",     "cas",     "exch",
    "inc",  "sync",     "red",    "popc",     "idx",     "bfly",    "ballot",
    "l",    "wrap",     "clamp",  "uni",      "gl",      "cta",     "f4e",
    "warp", "shiftamt", "finite", "relaxed",  "acquire", "release", "arrive",
};
const char *const kOperands[] = {
    "%r1",
    "%r2",
    "%rd1",
    "%rd2",
    "%f1",
    "%fd1",
    "%h1",
    "%p1",
    "!%p1",
    "%p1|%p2",
    "_",
    "0",
    "-1",
    "0x7fffffffffffffff",
    "1.5",
    "0f7fc00000",
    "0d7ff0000000000000",
    "%tid.x",
    "%clock64",
    "%laneid",
    "shared",
    "local",
    "global",
    "constant",
    "param",
    "L",
    "T",
    "f",
    "k",
    "[%rd1]",
    "[%rd1+2147483647]",
    "[%rd1+-2147483648]",
    "[%r1]",
    "[shared]",
    "[local+8]",
    "[global+64]",
    "[param]",
    "[param+8]",
    "[0]",
    "[param+4096]",
    "{%r1, %r2}",
    "{%r1, %r2, %r1, %r2}",
    "{%h1, %h2}",
    "{%f1, _, %f2, 0}",
    "(%r1)",
    "(x)",
    "(%r1, %r2)",
    "[x]",
    "[%rd1, %r1]",
    "32",
    "255",
};

// Operands and types that go together, so that many instructions are accepted.
const struct {
  const char *operands[4], *types[3];
} kKinds[] = {
    {{"%r1", "%r2", "%r3", "33"}, {"b32", "u32", "s32"}},
    {{"%rd1", "%rd2", "%rd3", "%r4"}, {"b64", "u64", "s64"}},
    {{"%f1", "%f2", "0f7fc00000", "%f3"}, {"f32", "f32", "b32"}},
    {{"%fd1", "%fd2", "1.5", "%fd3"}, {"f64", "f64", "b64"}},
    {{"%h1", "%h2", "%h3", "%r5"}, {"b16", "u16", "f16"}},
    {{"%p1", "%p2", "!%p3", "%r6"}, {"pred", "b32", "u32"}},
    {{"%r7", "[shared]", "[%rd6]", "%r8"}, {"u32", "b32", "f32"}},
};

template <size_t N>
std::string pick(std::mt19937 &random, const char *const (&all)[N]) {
  return all[random() % N];
}

TEST(TranslateHostile, AnyInstructionIsRefusedOrCompiles) {
  std::mt19937 random(7);
  int accepted = 0;
  std::string batch;
  const std::string before =
      ".const .align 8 .b8 constant[16] = {1};"
      ".global .align 8 .b8 global[64]; .shared .align 16 .b8 shared[64];"
      ".func (.reg .b32 %r) f(.reg .b32 %a) { mov.b32 %r, %a; ret; }"
      ".visible .entry k(.param .align 8 .b8 param[12]) {"
      ".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>;"
      ".reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .f64 %fd<9>;"
      ".local .align 8 .b8 local[16]; .param .b32 x;"
      "T: .branchtargets L, L;\n";
  for (int round = 0; round < 20000; ++round) {
    std::string text = random() % 3 ? "" : random() % 2 ? "@%p1 " : "@!%p2 ";
    text += pick(random, kPieces);
    const auto &kind = kKinds[random() % std::size(kKinds)];
    bool mixed = random() % 4 == 0;
    for (uint32_t i = random() % 2 * random() % 3; i-- > 0;)
      text += "." + pick(random, kModifiers);
    text += "." + (mixed ? pick(random, kModifiers) : pick(random, kind.types));
    for (uint32_t i = 0, count = 1 + random() % 4; i < count; ++i)
      text += (i ? ", " : " ") +
              (mixed ? pick(random, kOperands) : pick(random, kind.operands));
    text += ";\n";
    std::string log = refusal(withHeader(before + text + "L: ret; }"));
    if (!log.empty()) {
      EXPECT_EQ(log.substr(0, 8), "line 3: ") << text << log;
      continue;
    }
    ++accepted;
    batch += text;
    if (accepted % 40)
      continue;
    Memory::instance().reset();
    Program program(withHeader(before + batch + "L: ret; }"));
    EXPECT_TRUE(program.ok()) << program.log << batch;
    batch.clear();
  }
  EXPECT_GT(accepted, 130);
}

TEST(TranslateHostile, ManyLabelsAndRegisters) {
  std::string body = ".visible .entry k(.param .u64 p) { .reg .b32 %r<70000>;"
                     ".reg .pred %q;\n";
  for (int i = 0; i < 3000; ++i)
    body += "L" + std::to_string(i) + ": add.u32 %r" + std::to_string(i) +
            ", %r" + std::to_string(3000 - i) + ", 1; @%q bra L" +
            std::to_string((i * 7) % 3000) + ";\n";
  EXPECT_EQ(refusal(withHeader(body + "}")), "");
}

} // namespace
} // namespace pascaline::emulator::test
