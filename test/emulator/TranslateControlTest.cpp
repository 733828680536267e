// Branches, calls, guards, hooks and what a module as a whole tells.
#include "test/emulator/TranslateTest.h"

#include <gtest/gtest.h>

namespace pascaline::emulator::test {
namespace {

// The word that a kernel with %n = `n` leaves in %d.
uint32_t result(const std::string &functions, const std::string &body,
                uint32_t n) {
  Memory::instance().reset();
  hookCalls.clear();
  Program program(
      withHeader(functions +
                 ".visible .entry k(.param .u64 out, .param .u32 n) {\n"
                 ".reg .pred %p<9>; .reg .b32 %d, %n, %r<20>; .reg .b64 %out;\n"
                 "ld.param.u64 %out, [out]; ld.param.u32 %n, [n];\n" +
                 body + "\nst.global.u32 [%out], %d; ret; }"));
  EXPECT_TRUE(program.ok()) << program.log;
  if (!program.ok())
    return ~0u;
  struct {
    uint64_t out;
    uint32_t n;
  } params{Memory::instance().allocate(4), n};
  *reinterpret_cast<uint32_t *>(params.out) = 0xdead;
  program.run(&params);
  return *reinterpret_cast<uint32_t *>(params.out);
}

TEST(TranslateControl, LoopsAndGuards) {
  const char *sum = "mov.u32 %d, 0; mov.u32 %r1, 0;\n"
                    "$loop: setp.ge.u32 %p1, %r1, %n; @%p1 bra $end;\n"
                    "add.u32 %d, %d, %r1; add.u32 %r1, %r1, 1;\n"
                    "bra.uni $loop; $end:";
  EXPECT_EQ(result("", sum, 10), 45u);
  EXPECT_EQ(result("", sum, 0), 0u);
  const char *guarded = "setp.gt.u32 %p1, %n, 4; mov.u32 %d, 1;"
                        "@%p1 mov.u32 %d, 2; @!%p1 add.u32 %d, %d, 10;";
  EXPECT_EQ(result("", guarded, 5), 2u);
  EXPECT_EQ(result("", guarded, 4), 11u);
  EXPECT_EQ(result("", "setp.eq.u32 %p1, %n, 0; mov.u32 %d, 3; @%p1 ret;", 0),
            0xdeadu);
}

TEST(TranslateControl, NestedScopesHideNames) {
  EXPECT_EQ(result("",
                   "mov.u32 %d, 1; { .reg .b32 %d; mov.u32 %d, 7; bra L;"
                   "mov.u32 %d, 8; L: { .reg .b32 %x; mov.u32 %x, %d; } }"
                   "{ bra L; mov.u32 %d, 9; L: }",
                   0),
            1u);
}

TEST(TranslateControl, IndexedBranch) {
  const char *text = "mov.u32 %d, 0; targets: .branchtargets A, B, A;"
                     "brx.idx %n, targets;\n"
                     "A: add.u32 %d, %d, 1; bra C; B: add.u32 %d, %d, 2; C:";
  EXPECT_EQ(result("", text, 0), 1u);
  EXPECT_EQ(result("", text, 1), 2u);
  EXPECT_EQ(result("", text, 2), 1u);
  EXPECT_EQ(result("", text, 3), 0xdeadu);
  EXPECT_EQ(hookCalls, std::vector<std::string>{"trap"});
}

TEST(TranslateControl, CallsPassParametersAndResults) {
  const std::string functions =
      ".func (.param .b32 r) twice(.param .b32 a);\n"
      ".func (.reg .b32 %r) plus(.reg .b32 %a, .reg .b32 %b) {"
      " add.u32 %r, %a, %b; ret; }\n"
      ".func (.param .b32 r) twice(.param .b32 a) { .reg .b32 %x;"
      " ld.param.b32 %x, [a]; call (%x), plus, (%x, %x);"
      " st.param.b32 [r], %x; ret; }\n"
      ".func (.param .align 8 .b8 r[8]) swap(.param .align 8 .b8 a[8]) {"
      " .reg .b32 %x, %y; ld.param.v2.b32 {%x, %y}, [a];"
      " st.param.b32 [r], %y; st.param.b32 [r+4], %x; }\n";
  EXPECT_EQ(result(functions,
                   "{ .param .b32 param0; st.param.b32 [param0+0], %n;"
                   ".param .b32 retval0; call.uni (retval0), twice, (param0);"
                   "ld.param.b32 %d, [retval0+0]; }"
                   "call (%d), plus, (%d, 100);",
                   21),
            142u);
  EXPECT_EQ(result(functions,
                   "{ .param .align 8 .b8 x[8]; st.param.v2.b32 [x], {%n, 5};"
                   ".param .align 8 .b8 y[8]; call (y), swap, (x);"
                   "ld.param.v2.b32 {%r1, %r2}, [y];"
                   "mad.lo.u32 %d, %r1, 1000, %r2; }",
                   7),
            5007u);
}

// What clang makes of a struct passed by value and indexed: the index may be
// wild, the caller's memory may not.
TEST(TranslateControl, ParametersAreIndexedWithinTheirBytes) {
  const std::string functions =
      ".func (.param .b32 r) at(.param .align 4 .b8 a[12], .param .b32 i,"
      " .param .align 4 .b8 z[4]) { .reg .b64 %x, %i; .reg .b32 %y, %z;"
      " ld.param.s32 %i, [i]; shl.b64 %i, %i, 2; mov.b64 %x, a;"
      " add.s64 %x, %x, %i; ld.param.u32 %y, [%x+4]; mov.b64 %x, z;"
      " ld.param.u32 %z, [%x]; mad.lo.u32 %y, %z, 1000, %y;"
      " st.param.b32 [r], %y; ret; }\n";
  const std::string body =
      "{ .param .align 4 .b8 a[12]; mov.u32 %r1, 5; mov.u32 %r2, 6;"
      " st.param.b32 [a], %r1; st.param.b32 [a+4], %r2;"
      " st.param.b32 [a+8], 7; .param .b32 i; st.param.b32 [i], %n;"
      " .param .align 4 .b8 z[4]; st.param.b32 [z], 2; .param .b32 r;"
      " call (r), at, (a, i, z); ld.param.b32 %d, [r]; }";
  EXPECT_EQ(result(functions, body, 0), 2006u);
  EXPECT_EQ(result(functions, body, 1), 2007u);
  EXPECT_EQ(result(functions, body, uint32_t(-1)), 2005u);
  EXPECT_EQ(result(functions, body, 1000), 2007u);
}

TEST(TranslateControl, ExitLeavesEveryCaller) {
  EXPECT_EQ(result(".func leave(.reg .b32 %a) { .reg .pred %p;"
                   "setp.eq.u32 %p, %a, 1; @%p exit; ret; }\n",
                   "mov.u32 %d, 5; call leave, (%n);", 1),
            0xdeadu);
  EXPECT_EQ(result(".func leave(.reg .b32 %a) { .reg .pred %p;"
                   "setp.eq.u32 %p, %a, 1; @%p exit; ret; }\n",
                   "mov.u32 %d, 5; call leave, (%n);", 2),
            5u);
}

TEST(TranslateControl, HooksGetTheirArguments) {
  EXPECT_EQ(result("",
                   "bar.sync 0; bar.sync %n, 64; barrier.sync.aligned 1;"
                   "bar.arrive 2, 32; bar.warp.sync 0xff;"
                   "setp.eq.u32 %p1, %n, 3; bar.red.popc.u32 %d, 1, %p1;"
                   "bar.red.or.pred %p2, 1, 64, !%p1;"
                   "shfl.sync.bfly.b32 %d|%p3, %n, 0, 31, -1;"
                   "shfl.down.b32 %r1, %d, 2, 7;"
                   "vote.sync.ballot.b32 %r2, %p1, 15; vote.any.pred %p4, !%p1;"
                   "activemask.b32 %r3; selp.b32 %r4, 100, 0, %p3;"
                   "add.u32 %d, %d, %r4;",
                   3),
            104u);
  EXPECT_EQ(hookCalls,
            (std::vector<std::string>{
                "barrier 0 0", "barrier 3 64", "barrier 1 0", "arrive 2 32",
                "warpsync 255", "reduce 1 0 0 1", "reduce 1 64 2 0",
                "shuffle 2 3 0 31 4294967295", "shuffle 257 4 2 7 4294967295",
                "vote 3 1 15", "vote 257 0 4294967295",
                // + kWithoutSync
                "vote 259 1 4294967295"}));
}

TEST(TranslateControl, SpecialRegisters) {
  Program program(withHeader(
      ".visible .entry k(.param .u64 out) { .reg .b32 %r<9>;"
      ".reg .b64 %out; ld.param.u64 %out, [out];"
      "mov.u32 %r1, %tid.y; mov.u32 %r2, %ntid.z; mov.u32 %r3, %ctaid.x;"
      "mov.u32 %r4, %nctaid.y; mov.u32 %r5, %laneid; mov.u32 %r6, "
      "%lanemask_lt; mov.u32 %r7, %warpid; mov.u32 %r8, %lanemask_le;"
      "st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4};"
      "st.global.v4.u32 [%out+16], {%r5, %r6, %r7, %r8}; }"));
  ASSERT_TRUE(program.ok()) << program.log;
  ThreadState state{};
  state.tid[1] = 11;
  state.ntid[2] = 12;
  state.ctaid[0] = 13;
  state.nctaid[1] = 14;
  state.laneId = 5;
  state.warpId = 3;
  uint64_t out = Memory::instance().allocate(32);
  program.run(state, &out, 0);
  const auto *words = reinterpret_cast<uint32_t *>(out);
  EXPECT_EQ(std::vector<uint32_t>(words, words + 8),
            (std::vector<uint32_t>{11, 12, 13, 14, 5, 31, 3, 63}));
}

TEST(TranslateModule, DescribesItsKernels) {
  Program program(withHeader(
      ".shared .align 4 .b8 unused[40000]; .extern .shared .align 16 .b8 d[];"
      ".visible .entry a(.param .u8 x, .param .u64 y, .param .align 16 .b8 "
      "z[20]) .reqntid 8, 4 { .shared .b8 s[3]; .reg .b32 %r; mov.u32 %r, s;"
      "mov.u32 %r, d; ret; }"
      ".visible .entry b() .maxntid 256, 1, 1 { .local .align 8 .b8 l[24];"
      "bar.sync 0; ret; }"));
  ASSERT_TRUE(program.ok()) << program.log;
  const KernelInfo &a = program.kernel(0), &b = program.kernel(1);
  EXPECT_EQ(a.name, "a");
  ASSERT_EQ(a.params.size(), 3u);
  EXPECT_EQ(a.params[1].offset, 8u);
  EXPECT_EQ(a.params[2].offset, 16u);
  EXPECT_EQ(a.paramBytes, 36u);
  EXPECT_EQ(a.staticSharedBytes, 16u); // 3, and where dynamic memory begins
  EXPECT_EQ(a.maxThreads, 32u);
  EXPECT_EQ(a.requiredBlock[1], 4u);
  EXPECT_FALSE(a.switches);
  EXPECT_EQ(b.maxThreads, 256u);
  EXPECT_EQ(b.localBytes, 24u);
  EXPECT_TRUE(b.switches);
}

TEST(TranslateModule, RefusesWithTheLine) {
  EXPECT_EQ(instructionRefusal("frobnicate.u32 %r1, %r2;"),
            "line 3: unknown instruction 'frobnicate.u32'");
  EXPECT_EQ(instructionRefusal("add.u32.blue %r1, %r2, %r3;"),
            "line 3: unknown modifier '.blue' in 'add.u32.blue'");
  EXPECT_EQ(instructionRefusal("add.u32 %r1, %r2;"),
            "line 3: 'add.u32' takes 3 operands, here are 2");
  EXPECT_EQ(instructionRefusal("add.u32 %rd1, %r2, %r3;"),
            "line 3: register '%rd1' of type .b64 cannot take the .u32 result "
            "of 'add.u32'");
  EXPECT_EQ(instructionRefusal("add.u32 %r1, %p1, %r3;"),
            "line 3: register '%p1' of type .pred does not fit .u32 in "
            "'add.u32'");
  EXPECT_EQ(instructionRefusal("bra nowhere;"),
            "line 3: label 'nowhere' is not defined");
  EXPECT_EQ(instructionRefusal("call nobody;"),
            "line 3: function 'nobody' is called and not defined");
  EXPECT_EQ(instructionRefusal("mov.u32 %r1, %frob;"),
            "line 3: register '%frob' is not declared and is no special "
            "register");
  ErrorKind kind = ErrorKind::None;
  EXPECT_EQ(refusal(withHeader(".func f() { call f; }\n"
                               ".entry k() { call f; }"),
                    &kind),
            "line 2: function 'f' takes part in recursion, which is not "
            "supported");
  EXPECT_EQ(kind, ErrorKind::Unsupported);
  EXPECT_EQ(refusal(withHeader(".entry k() {\n .shared .b8 s[50000];"
                               ".reg .b32 %r; mov.u32 %r, s; }")),
            "line 3: 's' needs 50000 bytes at 0; kernel 'k' may use 49152 of "
            "shared memory");
  EXPECT_EQ(refusal(withHeader(".global .u64 p = {nothing};")),
            "line 2: 'nothing' is no variable whose address is known");
}

TEST(TranslateModule, ChecksFunctionsThatNoKernelCalls) {
  std::string called = ".visible .entry k() { ret; }\n.func g() { ret; }\n";
  EXPECT_EQ(refusal(withHeader(called + ".func f() {\n frobnicate.u32 1; }")),
            "line 5: unknown instruction 'frobnicate.u32'");
  EXPECT_EQ(refusal(withHeader(called + ".func f() {\n call nobody; }")),
            "line 5: function 'nobody' is called and not defined");
  EXPECT_EQ(refusal(withHeader(called + ".func f() {\n .local .b8 l[70000];\n"
                                        "ret; }")),
            "line 5: 'l' needs 70000 bytes at 0; kernel '(functions that no "
            "kernel calls)' may use 65536 of local memory");
  // Each may use all of it, and recursion harms nobody.
  Program program(withHeader(
      called + ".func a() { .shared .b8 s[40000]; .local .b8 l[60000];"
               ".reg .b32 %r; mov.u32 %r, s; call a; ret; }"
               ".func b() { .shared .b8 s[40000]; .local .b8 l[60000];"
               ".reg .b32 %r; mov.u32 %r, s; call g; call a; ret; }"));
  EXPECT_TRUE(program.ok()) << program.log;
}

TEST(TranslateModule, DefinesExternVariablesThatHaveASize) {
  std::string log;
  ErrorKind kind = ErrorKind::None;
  auto module = TranslatedModule::create(
      withHeader(".extern .const .align 8 .b8 t[48]; .extern .global .u32 a;"
                 ".extern .const .align 8 .b8 t[48]; .global .u32 a = 5;"),
      &log, &kind);
  ASSERT_TRUE(module) << log;
  ASSERT_EQ(module->variables().size(), 2u);
  EXPECT_EQ(module->variables()[0].name, "t");
  EXPECT_EQ(module->variables()[0].bytes, 48u);
  EXPECT_TRUE(module->variables()[0].isConst);
  EXPECT_EQ(module->variables()[1].initial, std::vector<uint8_t>({5, 0, 0, 0}));
  EXPECT_EQ(refusal(withHeader(".extern .global .b8 t[];")),
            "line 2: variable 't' is extern, has no size and is nowhere "
            "defined");
}

TEST(TranslateModule, RefusesAWrongNumberOfAddresses) {
  std::string log;
  ErrorKind kind = ErrorKind::None;
  auto module = TranslatedModule::create(
      withHeader(".global .u32 a; .global .u32 b;"), &log, &kind);
  ASSERT_TRUE(module) << log;
  EXPECT_EQ(module->variables().size(), 2u);
  EXPECT_FALSE(module->link({1}, &log));
  EXPECT_EQ(log, "the module has 2 variables, 1 addresses were given");
}

} // namespace
} // namespace pascaline::emulator::test
