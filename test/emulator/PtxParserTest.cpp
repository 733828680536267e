// The parser: what it makes of PTX, what it refuses and in which line, and that
// no text whatever makes it fall over.
#include "runtime/emulator/ptx/Parser.h"

#include <gtest/gtest.h>
#include <random>

namespace pascaline::emulator::ptx {
namespace {

constexpr const char *kHeader = ".version 6.3\n.target sm_61\n"
                                ".address_size 64\n";

std::unique_ptr<Module> accept(const std::string &text) {
  Diagnostic diagnostic;
  auto module = parse(kHeader + text, diagnostic);
  EXPECT_TRUE(module) << diagnostic.text();
  return module;
}

std::string refuse(const std::string &text, ErrorKind *kind = nullptr) {
  Diagnostic diagnostic;
  EXPECT_FALSE(parse(text, diagnostic));
  if (kind)
    *kind = diagnostic.kind;
  return diagnostic.text();
}

// Refusal of what follows the header's three lines.
std::string refuseBody(const std::string &text) {
  return refuse(kHeader + text);
}

TEST(PtxParser, ReadsAKernelAsLlvmWritesIt) {
  auto module = accept(R"(
	// .globl	scale
.visible .entry scale(
	.param .u64 .ptr .global .align 16 scale_param_0,
	.param .u32 scale_param_1
)
.maxntid 256, 1, 1
.minnctapersm 2
{
	.reg .pred 	%p<2>;
	.reg .b32 	%r<4>;
	.reg .b64 	%rd<3>;
	.loc	1 12 3, function_name $L__info_string0, inlined_at 1 2 3
// %bb.0:                               // %entry
	ld.param.u64 	%rd1, [scale_param_0+-0];
	setp.lt.s32 	%p1, %r1, 1;
	@!%p1 bra 	$L__BB0_2;
	.pragma "nounroll";
$L__BB0_2:
	ret;
                                        // -- End function
}
	.file	1 "a.cu", 12345, 99
	.section .debug_str { info_string0: .b8 95,90 }
)");
  ASSERT_TRUE(module);
  EXPECT_EQ(module->versionMajor, 6u);
  EXPECT_EQ(module->versionMinor, 3u);
  EXPECT_EQ(module->target, 61u);
  ASSERT_EQ(module->functions.size(), 1u);
  const Function &function = module->functions[0];
  EXPECT_TRUE(function.isEntry);
  EXPECT_EQ(function.params.size(), 2u);
  EXPECT_EQ(function.params[0]->align, 8u); // .align after .ptr is the target's
  EXPECT_EQ(function.maxThreads[0], 256u);
  ASSERT_EQ(function.body.size(), 4u);
  const Instruction &branch = function.body[2];
  EXPECT_EQ(branch.opcode, "bra");
  EXPECT_TRUE(branch.predicateNegated);
  EXPECT_TRUE(branch.operands[0].is(Operand::Kind::Label));
  EXPECT_EQ(function.labels[0].instruction, 3u);
  EXPECT_EQ(branch.line, 20u);
}

TEST(PtxParser, ReadsNumbersInEveryForm) {
  auto module = accept(".entry k() { .reg .b32 %r; frob %r, 10, 0x1f, 0b101, "
                       "017, 42U, -7, 0f3F800000, 0d3FF0000000000000, 1.5e3, "
                       "-2.5; }");
  ASSERT_TRUE(module);
  const auto &operands = module->functions[0].body[0].operands;
  const int64_t integers[] = {10, 31, 5, 15, 42, -7};
  for (size_t i = 0; i < 6; ++i)
    EXPECT_EQ(operands[1 + i].value, integers[i]);
  EXPECT_EQ(operands[7].kind, Operand::Kind::Float);
  EXPECT_EQ(operands[7].value, 0x3f800000);
  EXPECT_EQ(operands[8].value, 0x3ff0000000000000);
  EXPECT_EQ(operands[9].value, 0x4097700000000000);
  EXPECT_EQ(uint64_t(operands[10].value), 0xc004000000000000u);
}

TEST(PtxParser, RegisterRangesCostNothingUntilUsed) {
  auto module = accept(".entry k() { .reg .b32 %r<4000000000>, %r1x<10>;"
                       "mov.u32 %r3999999999, %r1x9; }");
  ASSERT_TRUE(module);
  EXPECT_EQ(module->functions[0].registers.size(), 2u);
  EXPECT_EQ(refuseBody(".entry k() { .reg .b32 %r<4>;\n mov.u32 %r4, 0; }"),
            "line 5: register '%r4' is not declared and is no special "
            "register");
}

TEST(PtxParser, ReadsVariables) {
  auto module = accept(".global .align 4 .b8 bytes[5] = {1, 0xff, -1};"
                       ".visible .const .f32 pi[] = {3.0, 0f40490fdb};"
                       ".global .v4 .f32 four; .global .s32 grid[3][4];"
                       ".extern .shared .align 16 .b8 dynamic[];");
  ASSERT_TRUE(module);
  const auto &variables = module->variables;
  ASSERT_EQ(variables.size(), 5u);
  EXPECT_EQ(variables[0].initial, (std::vector<uint8_t>{1, 255, 255, 0, 0}));
  EXPECT_EQ(variables[1].bytes, 8u);
  EXPECT_EQ(variables[1].initial[2], 0x40); // 3.0f
  EXPECT_EQ(variables[2].bytes, 16u);
  EXPECT_EQ(variables[2].align, 16u);
  EXPECT_EQ(variables[3].bytes, 48u);
  EXPECT_EQ(variables[4].bytes, 0u);
  EXPECT_TRUE(variables[4].isExtern);
}

TEST(PtxParser, RefusesHeadersItCannotServe) {
  ErrorKind kind = ErrorKind::None;
  EXPECT_EQ(refuse(""), "line 1: expected '.version', with which PTX begins, "
                        "found the end of the text");
  EXPECT_EQ(refuse(".version 99.0\n.target sm_61", &kind),
            "line 1: PTX version 99.0 is newer than 9.x, the last one known");
  EXPECT_EQ(kind, ErrorKind::UnsupportedVersion);
  EXPECT_EQ(refuse(".version 7.0\n.target sm_90", &kind),
            "line 2: target sm_90 is above sm_61, which this device offers");
  EXPECT_EQ(kind, ErrorKind::UnsupportedTarget);
  EXPECT_EQ(refuse(".version 6.0\n.target sm_61\n.address_size 32", &kind),
            "line 3: address size 32 is not supported; use 64");
  EXPECT_EQ(kind, ErrorKind::Unsupported);
}

TEST(PtxParser, RefusesWithTheLine) {
  EXPECT_EQ(refuseBody("\n.frob"), "line 5: unknown directive '.frob'");
  EXPECT_EQ(refuseBody("/* \n\n"),
            "line 4: expected a directive, found a comment that is never "
            "closed");
  EXPECT_EQ(refuseBody(".entry k() {\n\n"),
            "line 6: expected an instruction, found the end of the text");
  EXPECT_EQ(refuseBody(".entry k() { ret }"),
            "line 4: expected an operand, found '}'");
  EXPECT_EQ(refuseBody(".entry k() { A:\n A: ret; }"),
            "line 5: label 'A' is defined twice in one scope");
  EXPECT_EQ(refuseBody(".entry k() { .reg .b32 a;\n.reg .b32 a; }"),
            "line 5: 'a' is declared twice in one scope");
  EXPECT_EQ(refuseBody(".entry k() {}\n.entry k() {}"),
            "line 5: function 'k' is defined twice, first in line 4");
  EXPECT_EQ(refuseBody(".global .b8 x[99999999999];"),
            "line 4: array 'x' is larger than the limit of 68719476736 bytes");
  EXPECT_EQ(refuseBody(".global .align 3 .b8 x;"),
            "line 4: alignment 3 is no power of two up to 65536");
  EXPECT_EQ(refuseBody(".global .b8 x[2] = {1, 2, 3};"),
            "line 4: too many initial values for 'x'");
  EXPECT_EQ(refuseBody(".entry k() .maxntid 1025 { }"),
            "line 4: a block needs 1 to 1024 threads");
  EXPECT_EQ(refuseBody(".entry k() { @%tid.x ret; }"),
            "line 4: a guard must be a .pred register");
  EXPECT_EQ(refuseBody(".entry k() { .reg .b64 %r; ld.u32 %r, "
                       "[%r+99999999999]; }"),
            "line 4: displacement 99999999999 does not fit 32 bits");
  EXPECT_EQ(refuseBody(".entry k() { mov.u32 \x01; }"),
            "line 4: expected an operand, found a character that PTX does not "
            "use");
}

TEST(PtxParser, LimitsNesting) {
  std::string deep = ".entry k() {";
  for (int i = 0; i < 100000; ++i)
    deep += '{';
  EXPECT_EQ(refuseBody(deep), "line 4: scopes are nested more than 256 deep");
  std::string operand = ".entry k() { frob ";
  operand.append(100000, '(');
  EXPECT_EQ(refuseBody(operand), "line 4: operands are nested too deeply");
  std::string initial = ".global .b8 x[9] = ";
  initial.append(100000, '{');
  EXPECT_EQ(refuseBody(initial), "line 4: initializers are nested too deeply");
}

TEST(PtxParser, NoTextMakesItFallOver) {
  const std::string good =
      std::string(kHeader) +
      ".global .u32 t[4] = {1, 2};\n.visible .entry k(.param .u64 p)\n{\n"
      ".reg .b32 %r<9>; .reg .b64 %rd<3>; .reg .pred %p;\n"
      "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x;\n"
      "@%p bra L; ld.global.v2.u32 {%r1, %r2}, [%rd1+8];\n"
      "L: add.f32 %r3, 0f3f800000, 1.5; call (x), f, (y); ret; }\n";
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::string text = good;
    int changes = 1 + int(random() % 4);
    for (int i = 0; i < changes && !text.empty(); ++i) {
      size_t at = random() % text.size();
      switch (random() % 4) {
      case 0:
        text[at] = char(random());
        break;
      case 1:
        text.erase(at, random() % 8);
        break;
      case 2:
        text.insert(at, text.substr(random() % text.size(), random() % 12));
        break;
      default:
        text.resize(at + 1);
      }
    }
    Diagnostic diagnostic;
    bool accepted = parse(text, diagnostic) != nullptr;
    EXPECT_NE(accepted, bool(diagnostic)) << text;
  }
  for (int round = 0; round < 2000; ++round) {
    std::string text(random() % 200, ' ');
    for (char &c : text)
      c = char(random());
    Diagnostic diagnostic;
    EXPECT_FALSE(parse(text, diagnostic));
    EXPECT_TRUE(diagnostic);
  }
}

} // namespace
} // namespace pascaline::emulator::ptx
