// Register tiles of fma: that the pass sees them, leaves the rest alone, and
// that kernels with such tiles keep every bit.
#include "runtime/emulator/translate/TileVectorizer.h"
#include "test/emulator/TranslateTest.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <gtest/gtest.h>

namespace pascaline::emulator::test {
namespace {

std::string text(const char *before, int i, int j = -1) {
  return before + std::to_string(i) + (j < 0 ? "" : "_" + std::to_string(j));
}

// for (n) for k < 2: acc[i][j] = fma(a[k][i], b[k][j], acc[i][j]), in LLVM IR.
// `extra` is put between the two k.
std::string loop(int rows, int columns, const std::string &extra = "") {
  std::string ir = "declare float @llvm.fma.f32(float, float, float)\n"
                   "define void @f(ptr %p, ptr %o, i32 %n) {\n"
                   "entry:\n br label %body\nbody:\n"
                   " %i = phi i32 [0, %entry], [%next, %body]\n";
  std::string fma, stores;
  for (int k = 0; k < 2; ++k)
    for (int i = 0; i < rows + columns; ++i) {
      std::string name = text(k ? "v" : "u", i);
      fma += " %p" + name + " = getelementptr float, ptr %p, i64 " +
             std::to_string(32 * k + i) + "\n %" + name +
             " = load float, ptr %p" + name + "\n";
    }
  for (int k = 0; k < 2; ++k) {
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) {
        if (!k)
          ir += " %" + text("c", i, j) + " = phi float [0.0, %entry], [%" +
                text("y", i, j) + ", %body]\n";
        fma += " %" + text(k ? "y" : "x", i, j) +
               " = call float @llvm.fma.f32(float %" + text(k ? "v" : "u", i) +
               ", float %" + text(k ? "v" : "u", rows + j) + ", float %" +
               text(k ? "x" : "c", i, j) + ")\n";
        if (k)
          stores += " %s" + text("", i, j) +
                    " = getelementptr float, ptr %o, "
                    "i64 " +
                    std::to_string(i * columns + j) + "\n store float %" +
                    text("y", i, j) + ", ptr %s" + text("", i, j) + "\n";
      }
    if (!k)
      fma += extra;
  }
  return ir + fma +
         " %next = add i32 %i, 1\n %again = icmp slt i32 %next, %n\n"
         " br i1 %again, label %body, label %done\ndone:\n" +
         stores + " ret void\n}\n";
}

unsigned replaced(const std::string &ir) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  auto module = llvm::parseAssemblyString(ir, problem, context);
  EXPECT_TRUE(module) << problem.getMessage().str() << ir;
  if (!module)
    return ~0u;
  unsigned count = vectorizeTiles(*module->getFunction("f"));
  EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  return count;
}

TEST(TileVectorizer, SeesTilesOfEightLanes) {
  EXPECT_EQ(replaced(loop(8, 8)), 128u);
  EXPECT_EQ(replaced(loop(4, 8)), 64u);
  EXPECT_EQ(replaced(loop(8, 4)), 64u);
  EXPECT_EQ(replaced(loop(3, 16)), 96u);
  EXPECT_EQ(replaced(loop(2, 9)), 32u);
}

TEST(TileVectorizer, LeavesTheRestAlone) {
  EXPECT_EQ(replaced(loop(4, 4)), 0u);
  // One sum is wanted half-way: its row is left with seven whole chains.
  EXPECT_EQ(replaced(loop(8, 8, " store float %x0_0, ptr %o\n")), 112u);
}

// The kernel of a tile, and the same in C++.
void checkKernel(int rows, int columns, int steps) {
  std::string body = ".visible .entry k(.param .u64 a, .param .u64 b, .param "
                     ".u64 c, .param .u32 n) {\n.reg .f32 %a<9>, %b<9>, "
                     "%c<99>; .reg .b64 %pa, %pb, %pc; .reg .b32 %i, %n; "
                     ".reg .pred %p;\nld.param.u64 %pa, [a]; ld.param.u64 "
                     "%pb, [b]; ld.param.u64 %pc, [c]; ld.param.u32 %n, [n]; "
                     "mov.u32 %i, 0;\n";
  for (int i = 0; i < rows * columns; ++i)
    body += "mov.f32 " + text("%c", i) + ", 0f3f000000;\n";
  body += "loop:\n";
  for (int k = 0; k < steps; ++k) {
    for (int i = 0; i < rows; ++i)
      body += "ld.global.f32 " + text("%a", i) + ", [%pa+" +
              std::to_string(4 * (k * rows + i)) + "];\n";
    for (int j = 0; j < columns; ++j)
      body += "ld.global.f32 " + text("%b", j) + ", [%pb+" +
              std::to_string(4 * (k * columns + j)) + "];\n";
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) {
        std::string c = text("%c", i * columns + j);
        body += "fma.rn.f32 " + c + ", " + text("%a", i) + ", " +
                text("%b", j) + ", " + c + ";\n";
      }
  }
  body += "add.u64 %pa, %pa, " + std::to_string(4 * rows * steps) +
          "; add.u64 %pb, %pb, " + std::to_string(4 * columns * steps) +
          ";\nadd.u32 %i, %i, 1; setp.lt.u32 %p, %i, %n; @%p bra loop;\n";
  for (int i = 0; i < rows * columns; ++i)
    body += "st.global.f32 [%pc+" + std::to_string(4 * i) + "], " +
            text("%c", i) + ";\n";
  Memory &memory = Memory::instance();
  memory.reset();
  Program program(withHeader(body + "ret; }"));
  ASSERT_TRUE(program.ok()) << program.log;
  const int turns = 3, depth = turns * steps;
  struct {
    uint64_t a, b, c;
    uint32_t n;
  } params{memory.allocate(4 * rows * depth),
           memory.allocate(4 * columns * depth),
           memory.allocate(4 * rows * columns), turns};
  auto *a = reinterpret_cast<float *>(params.a);
  auto *b = reinterpret_cast<float *>(params.b);
  auto *c = reinterpret_cast<float *>(params.c);
  for (int i = 0; i < rows * depth; ++i)
    a[i] = std::sin(float(i)) * 3;
  for (int i = 0; i < columns * depth; ++i)
    b[i] = std::cos(float(i)) / 7;
  program.run(&params);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      float want = 0.5f;
      for (int k = 0; k < depth; ++k)
        want = std::fma(a[k * rows + i], b[k * columns + j], want);
      EXPECT_EQ(c[i * columns + j], want) << i << " " << j;
    }
}

// c[i][j] = sum over k and bytes of a[k][i] * b[k][j], with these types.
void checkDotProducts(int rows, int columns, bool aSigned, bool bSigned) {
  const int depth = 4;
  std::string body = ".visible .entry k(.param .u64 a, .param .u64 b, .param "
                     ".u64 c) {\n.reg .b32 %a<9>, %b<9>, %c<99>;"
                     ".reg .b64 %pa, %pb, %pc; ld.param.u64 %pa, [a];"
                     "ld.param.u64 %pb, [b]; ld.param.u64 %pc, [c];\n";
  for (int i = 0; i < rows * columns; ++i)
    body += "mov.b32 " + text("%c", i) + ", " + std::to_string(i) + ";\n";
  for (int k = 0; k < depth; ++k) {
    for (int i = 0; i < rows; ++i)
      body += "ld.global.u32 " + text("%a", i) + ", [%pa+" +
              std::to_string(4 * (k * rows + i)) + "];\n";
    for (int j = 0; j < columns; ++j)
      body += "ld.global.u32 " + text("%b", j) + ", [%pb+" +
              std::to_string(4 * (k * columns + j)) + "];\n";
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) {
        std::string c = text("%c", i * columns + j);
        body += std::string("dp4a.") + (aSigned ? "s32" : "u32") +
                (bSigned ? ".s32 " : ".u32 ") + c + ", " + text("%a", i) +
                ", " + text("%b", j) + ", " + c + ";\n";
      }
  }
  for (int i = 0; i < rows * columns; ++i)
    body += "st.global.b32 [%pc+" + std::to_string(4 * i) + "], " +
            text("%c", i) + ";\n";
  Memory &memory = Memory::instance();
  memory.reset();
  Program program(withHeader(body + "ret; }"));
  ASSERT_TRUE(program.ok()) << program.log;
  struct {
    uint64_t a, b, c;
  } params{memory.allocate(4 * rows * depth),
           memory.allocate(4 * columns * depth),
           memory.allocate(4 * rows * columns)};
  auto *a = reinterpret_cast<uint8_t *>(params.a);
  auto *b = reinterpret_cast<uint8_t *>(params.b);
  auto *c = reinterpret_cast<int32_t *>(params.c);
  for (int i = 0; i < 4 * rows * depth; ++i)
    a[i] = uint8_t(i * 37 + 128);
  for (int i = 0; i < 4 * columns * depth; ++i)
    b[i] = uint8_t(255 - i * 101);
  program.run(&params);
  auto extended = [](uint8_t byte, bool isSigned) {
    return isSigned ? int32_t(int8_t(byte)) : int32_t(byte);
  };
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      int32_t want = i * columns + j;
      for (int k = 0; k < depth; ++k)
        for (int n = 0; n < 4; ++n)
          want += extended(a[4 * (k * rows + i) + n], aSigned) *
                  extended(b[4 * (k * columns + j) + n], bSigned);
      EXPECT_EQ(c[i * columns + j], want) << i << " " << j;
    }
}

TEST(TileVectorizer, DotProductsOfEverySign) {
  for (bool aSigned : {false, true})
    for (bool bSigned : {false, true}) {
      checkDotProducts(8, 8, aSigned, bSigned);
      checkDotProducts(8, 4, aSigned, bSigned);
      checkDotProducts(4, 8, aSigned, bSigned);
      checkDotProducts(2, 3, aSigned, bSigned);
    }
}

TEST(TileVectorizer, KernelsKeepEveryBit) {
  checkKernel(8, 8, 4);
  checkKernel(4, 8, 8);
  checkKernel(8, 4, 1);
  checkKernel(4, 4, 2);
  checkKernel(1, 8, 3);
}

} // namespace
} // namespace pascaline::emulator::test
