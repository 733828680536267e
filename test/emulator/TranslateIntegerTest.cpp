// Integer arithmetic against values computed here, over edge cases.
#include "test/emulator/TranslateTest.h"

#include <gtest/gtest.h>
#include <limits>

namespace pascaline::emulator::test {
namespace {

constexpr int32_t kMin32 = std::numeric_limits<int32_t>::min();
constexpr int64_t kMin64 = std::numeric_limits<int64_t>::min();

const int32_t kSigned[] = {0,     1,          -1,         2,      7,
                           -7,    1000003,    -1000003,   kMin32, kMin32 + 1,
                           65535, 0x7fffffff, 0x00800000, 255,    -256};
const int64_t kSigned64[] = {0,
                             1,
                             -1,
                             7,
                             -7,
                             kMin64,
                             kMin64 + 1,
                             0x7fffffffffffffff,
                             1ll << 32,
                             -(1ll << 32),
                             123456789012345};

TEST(TranslateInteger, AddAndSubtractWrap) {
  for (int32_t a : kSigned)
    for (int32_t b : kSigned) {
      EXPECT_EQ(evaluate<uint32_t>("add.s32 %d, %a, %b;", a, b),
                uint32_t(a) + uint32_t(b));
      EXPECT_EQ(evaluate<uint32_t>("sub.u32 %d, %a, %b;", a, b),
                uint32_t(a) - uint32_t(b));
    }
  EXPECT_EQ(
      evaluate<uint16_t>("add.u16 %d, %a, %b;", uint16_t(0xffff), uint16_t(2)),
      1);
  EXPECT_EQ(evaluate<int64_t>("sub.s64 %d, %a, %b;", kMin64, int64_t(1)),
            std::numeric_limits<int64_t>::max());
  EXPECT_EQ(evaluate<int32_t>("add.s32 %d, %a, -5;", 3), -2);
}

TEST(TranslateInteger, SaturatingAddStaysInRange) {
  EXPECT_EQ(evaluate<int32_t>("add.sat.s32 %d, %a, %b;", 0x7fffffff, 1),
            0x7fffffff);
  EXPECT_EQ(evaluate<int32_t>("sub.sat.s32 %d, %a, %b;", kMin32, 1), kMin32);
  EXPECT_EQ(evaluate<int32_t>("add.sat.s32 %d, %a, %b;", 5, -7), -2);
}

TEST(TranslateInteger, MultiplyGivesLowHighAndWide) {
  for (int32_t a : kSigned)
    for (int32_t b : kSigned) {
      int64_t product = int64_t(a) * b;
      uint64_t unsignedProduct = uint64_t(uint32_t(a)) * uint32_t(b);
      EXPECT_EQ(evaluate<uint32_t>("mul.lo.s32 %d, %a, %b;", a, b),
                uint32_t(product));
      EXPECT_EQ(evaluate<int32_t>("mul.hi.s32 %d, %a, %b;", a, b),
                int32_t(product >> 32));
      EXPECT_EQ(evaluate<uint32_t>("mul.hi.u32 %d, %a, %b;", a, b),
                uint32_t(unsignedProduct >> 32));
      EXPECT_EQ(evaluate<int64_t>("mul.wide.s32 %d, %a, %b;", a, b), product);
      EXPECT_EQ(evaluate<uint64_t>("mul.wide.u32 %d, %a, %b;", a, b),
                unsignedProduct);
    }
  for (int64_t a : kSigned64)
    for (int64_t b : kSigned64) {
      EXPECT_EQ(evaluate<int64_t>("mul.hi.s64 %d, %a, %b;", a, b),
                int64_t((__int128(a) * b) >> 64));
      EXPECT_EQ(evaluate<uint64_t>("mul.hi.u64 %d, %a, %b;", a, b),
                uint64_t((static_cast<unsigned __int128>(uint64_t(a)) *
                          uint64_t(b)) >>
                         64));
    }
  EXPECT_EQ(evaluate<uint32_t>("mul.wide.s16 %d, %a, %b;", uint16_t(0x8000),
                               uint16_t(2)),
            uint32_t(-65536));
}

TEST(TranslateInteger, MultiplyAdd) {
  EXPECT_EQ(evaluate<int32_t>("mad.lo.s32 %d, %a, %b, %c;", 7, -3, 100), 79);
  EXPECT_EQ(evaluate<int64_t>("mad.wide.s32 %d, %a, %b, %c;", kMin32, kMin32,
                              int64_t(5)),
            (1ll << 62) + 5);
  EXPECT_EQ(evaluate<int32_t>("mad.hi.s32 %d, %a, %b, %c;", kMin32, 4, 1), -1);
  EXPECT_EQ(evaluate<int32_t>("mad.hi.sat.s32 %d, %a, %b, %c;", kMin32, kMin32,
                              0x7fffffff),
            0x7fffffff);
  EXPECT_EQ(evaluate<int32_t>("mul24.lo.s32 %d, %a, %b;", 0x01ffffff, 3), -3);
  EXPECT_EQ(
      evaluate<uint32_t>("mul24.hi.u32 %d, %a, %b;", 0xffffffffu, 0xffffffffu),
      uint32_t((0xffffffull * 0xffffffull) >> 16));
  EXPECT_EQ(
      evaluate<uint32_t>("mad24.lo.u32 %d, %a, %b, %c;", 0xff000002u, 3u, 4u),
      10u);
}

TEST(TranslateInteger, DivisionNeverTraps) {
  for (int32_t a : kSigned)
    for (int32_t b : kSigned) {
      int32_t quotient = b == 0 ? -1 : int32_t(int64_t(a) / b);
      int32_t rest = b == 0 ? a : int32_t(int64_t(a) % b);
      EXPECT_EQ(evaluate<int32_t>("div.s32 %d, %a, %b;", a, b), quotient);
      EXPECT_EQ(evaluate<int32_t>("rem.s32 %d, %a, %b;", a, b), rest);
      uint32_t x = uint32_t(a), y = uint32_t(b);
      EXPECT_EQ(evaluate<uint32_t>("div.u32 %d, %a, %b;", x, y),
                y ? x / y : ~0u);
      EXPECT_EQ(evaluate<uint32_t>("rem.u32 %d, %a, %b;", x, y), y ? x % y : x);
    }
  EXPECT_EQ(evaluate<int64_t>("div.s64 %d, %a, %b;", kMin64, int64_t(-1)),
            kMin64);
  EXPECT_EQ(evaluate<int64_t>("rem.s64 %d, %a, %b;", kMin64, int64_t(-1)), 0);
}

TEST(TranslateInteger, AbsoluteNegateMinMax) {
  for (int32_t a : kSigned) {
    uint32_t magnitude = a < 0 ? 0 - uint32_t(a) : uint32_t(a);
    EXPECT_EQ(evaluate<uint32_t>("abs.s32 %d, %a;", a), magnitude);
    EXPECT_EQ(evaluate<uint32_t>("neg.s32 %d, %a;", a), 0 - uint32_t(a));
    for (int32_t b : kSigned) {
      EXPECT_EQ(evaluate<int32_t>("min.s32 %d, %a, %b;", a, b), std::min(a, b));
      EXPECT_EQ(evaluate<int32_t>("max.s32 %d, %a, %b;", a, b), std::max(a, b));
      EXPECT_EQ(evaluate<uint32_t>("min.u32 %d, %a, %b;", a, b),
                std::min(uint32_t(a), uint32_t(b)));
      int64_t difference = int64_t(a) - b;
      EXPECT_EQ(evaluate<uint32_t>("sad.s32 %d, %a, %b, %c;", a, b, 9),
                uint32_t(difference < 0 ? -difference : difference) + 9);
    }
  }
}

TEST(TranslateInteger, CarryRunsThroughChains) {
  const std::string chain = "{ .reg .b32 %al, %ah, %bl, %bh, %dl, %dh;"
                            "mov.b64 {%al, %ah}, %a; mov.b64 {%bl, %bh}, %b;"
                            "OP.cc.u32 %dl, %al, %bl;"
                            "OPc.u32 %dh, %ah, %bh;"
                            "mov.b64 %d, {%dl, %dh}; }";
  for (int64_t a : kSigned64)
    for (int64_t b : kSigned64)
      for (bool subtract : {false, true}) {
        std::string text = chain;
        for (size_t at; (at = text.find("OP")) != std::string::npos;)
          text.replace(at, 2, subtract ? "sub" : "add");
        EXPECT_EQ(evaluate<uint64_t>(text, a, b),
                  subtract ? uint64_t(a) - uint64_t(b)
                           : uint64_t(a) + uint64_t(b));
      }
  // 64 x 64 -> low 64 by 32-bit steps.
  const std::string product =
      "{ .reg .b32 %al, %ah, %bl, %bh, %x, %y;"
      "mov.b64 {%al, %ah}, %a; mov.b64 {%bl, %bh}, %b;"
      "mul.lo.u32 %x, %al, %bl; mul.hi.u32 %y, %al, %bl;"
      "mad.lo.cc.u32 %y, %al, %bh, %y; madc.lo.u32 %y, %ah, %bl, %y;"
      "mov.b64 %d, {%x, %y}; }";
  // madc adds the carry of the low word's overflow, which the exact product
  // does not have: undo it here.
  uint64_t a = 0x123456789abcdef0, b = 0x0fedcba987654321;
  uint32_t al = uint32_t(a), bh = uint32_t(b >> 32);
  uint64_t y = (uint64_t(al) * uint32_t(b) >> 32);
  uint64_t carry = (uint64_t(uint32_t(al * bh)) + y) >> 32;
  EXPECT_EQ(evaluate<uint64_t>(product, a, b), a * b + (carry << 32));
}

TEST(TranslateInteger, DotProducts) {
  EXPECT_EQ(evaluate<int32_t>("dp4a.s32.s32 %d, %a, %b, %c;", 0x80ff017fu,
                              0x80020304u, 1000),
            1000 + (-128) * (-128) + (-1) * 2 + 1 * 3 + 127 * 4);
  EXPECT_EQ(evaluate<int32_t>("dp4a.u32.s32 %d, %a, %b, %c;", 0x80ff017fu,
                              0x80020304u, -5),
            -5 + 128 * -128 + 255 * 2 + 1 * 3 + 127 * 4);
  EXPECT_EQ(evaluate<uint32_t>("dp4a.u32.u32 %d, %a, %b, %c;", 0xffffffffu,
                               0xffffffffu, 0u),
            4u * 255 * 255);
  EXPECT_EQ(evaluate<int32_t>("dp2a.lo.s32.s32 %d, %a, %b, %c;", 0x8000ffffu,
                              0x7f80ff02u, 7),
            7 + (-1) * 2 + (-32768) * (-1));
  EXPECT_EQ(evaluate<int32_t>("dp2a.hi.s32.s32 %d, %a, %b, %c;", 0x8000ffffu,
                              0x7f80ff02u, 7),
            7 + (-1) * (-128) + (-32768) * 127);
}

} // namespace
} // namespace pascaline::emulator::test
