// The chip table, and PTX from kernels: one header, the same bytes each time.

#include "compiler/target/Chip.h"
#include "compiler/target/Ptx.h"
#include "test/compiler/ContractionCases.h"

#include <gtest/gtest.h>
#include <set>

using namespace pascaline;
using namespace pascaline::test;

namespace {

size_t count(const std::string &text, const std::string &what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + 1))
    ++found;
  return found;
}

std::string compileOne() {
  auto context = makeContext();
  Contraction c =
      convContraction(*context, {8, 6, 6, 8, 3, 1, 1, 1}, allTiles().back(), 1);
  return compileContraction(*context, c, false).ptx;
}

TEST(Chip, EachHasANameOfItsOwn) {
  std::set<std::string> names;
  for (const Chip &chip : allChips()) {
    EXPECT_TRUE(names.insert(chip.name.str()).second) << chip.name.str();
    EXPECT_EQ(findChip(chip.name), &chip);
    EXPECT_GT(chip.multiprocessors * chip.clockMhz * chip.bandwidthMBs, 0);
  }
  EXPECT_EQ(findChip("gtx1060"), nullptr);
}

TEST(Ptx, IsOfTheLowestVersionThatServes) {
  std::string ptx = compileOne();
  EXPECT_NE(ptx.find(".version 6.0\n.target sm_61\n"), std::string::npos);
}

TEST(Ptx, TwoCompilesGiveTheSameBytes) {
  EXPECT_EQ(compileOne(), compileOne());
}

TEST(Ptx, LinkedModulesHaveOneHeader) {
  std::string ptx = compileOne(), other = ptx;
  for (size_t at = 0; (at = other.find("contraction", at)) != std::string::npos;
       at += 5)
    other.replace(at, 11, "other");
  std::string linked = linkPtx({ptx, other});
  for (const char *line : {".version", ".target", ".address_size"})
    EXPECT_EQ(count(linked, line), 1u) << line;
  EXPECT_EQ(count(linked, ".visible .entry"), 2u);
  EXPECT_EQ(linked.find(".version"), 0u);
}

} // namespace
