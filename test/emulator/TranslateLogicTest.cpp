// Logic, shifts, bit fields, comparisons, moves.
#include "test/emulator/TranslateTest.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace pascaline::emulator::test {
namespace {

const uint32_t kWords[] = {0,          1,          0xffffffff, 0x80000000,
                           0x7fffffff, 0x12345678, 0xf0f0f0f0, 0x00ff00ff};

TEST(TranslateLogic, BitwiseOperations) {
  for (uint32_t a : kWords)
    for (uint32_t b : kWords) {
      EXPECT_EQ(evaluate<uint32_t>("and.b32 %d, %a, %b;", a, b), a & b);
      EXPECT_EQ(evaluate<uint32_t>("or.b32 %d, %a, %b;", a, b), a | b);
      EXPECT_EQ(evaluate<uint32_t>("xor.b32 %d, %a, %b;", a, b), a ^ b);
      EXPECT_EQ(evaluate<uint32_t>("not.b32 %d, %a;", a), ~a);
      EXPECT_EQ(evaluate<uint32_t>("cnot.b32 %d, %a;", a), a == 0);
      // (a & b) | (~a & c): table 0xca
      EXPECT_EQ(evaluate<uint32_t>("lop3.b32 %d, %a, %b, %c, 0xca;", a, b,
                                   0x0f0f1234u),
                (a & b) | (~a & 0x0f0f1234u));
      EXPECT_EQ(evaluate<uint32_t>("lop3.b32 %d, %a, %b, %c, 0x96;", a, b,
                                   0x0f0f1234u),
                a ^ b ^ 0x0f0f1234u);
    }
  for (bool a : {false, true})
    for (bool b : {false, true}) {
      EXPECT_EQ(evaluate<bool>("and.pred %d, %a, %b;", a, b), a && b);
      EXPECT_EQ(evaluate<bool>("xor.pred %d, %a, %b;", a, b), a != b);
      EXPECT_EQ(evaluate<bool>("not.pred %d, %a;", a), !a);
    }
}

TEST(TranslateLogic, ShiftsClampTheirAmount) {
  for (uint32_t a : kWords)
    for (uint32_t n : {0u, 1u, 31u, 32u, 33u, 63u, 64u, 0xffffffffu}) {
      int32_t asSigned = int32_t(a);
      EXPECT_EQ(evaluate<uint32_t>("shl.b32 %d, %a, %b;", a, n),
                n > 31 ? 0 : a << n);
      EXPECT_EQ(evaluate<uint32_t>("shr.u32 %d, %a, %b;", a, n),
                n > 31 ? 0 : a >> n);
      EXPECT_EQ(evaluate<int32_t>("shr.s32 %d, %a, %b;", a, n),
                asSigned >> std::min(n, 31u));
      uint64_t wide = uint64_t(a) << 16;
      EXPECT_EQ(evaluate<uint64_t>("shl.b64 %d, %a, %b;", wide, n),
                n > 63 ? 0 : wide << n);
      uint64_t both = uint64_t(a) << 32 | 0x9abcdef0u;
      EXPECT_EQ(evaluate<uint32_t>("shf.l.wrap.b32 %d, %b, %a, %c;", a,
                                   0x9abcdef0u, n),
                uint32_t(both << (n & 31) >> 32));
      EXPECT_EQ(evaluate<uint32_t>("shf.r.clamp.b32 %d, %b, %a, %c;", a,
                                   0x9abcdef0u, n),
                uint32_t(both >> std::min(n, 32u)));
      EXPECT_EQ(evaluate<uint32_t>("shf.l.clamp.b32 %d, %b, %a, %c;", a,
                                   0x9abcdef0u, n),
                n >= 32 ? 0x9abcdef0u : uint32_t(both << n >> 32));
    }
  EXPECT_EQ(evaluate<uint16_t>("shl.b16 %d, %a, %b;", uint16_t(1), 15u),
            0x8000);
  EXPECT_EQ(evaluate<uint16_t>("shl.b16 %d, %a, %b;", uint16_t(1), 16u), 0);
  EXPECT_EQ(evaluate<uint16_t>("shr.s16 %d, %a, %b;", uint16_t(0x8000), 99u),
            0xffff);
}

uint32_t permuted(uint32_t a, uint32_t b, uint32_t c) {
  uint64_t both = uint64_t(b) << 32 | a;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    uint32_t choice = c >> (4 * i) & 15;
    uint8_t byte = uint8_t(both >> (8 * (choice & 7)));
    if (choice & 8)
      byte = byte & 0x80 ? 0xff : 0;
    result |= uint32_t(byte) << (8 * i);
  }
  return result;
}

TEST(TranslateLogic, PermuteChoosesBytes) {
  uint32_t a = 0x83828180, b = 0x07f60504;
  for (uint32_t c : {0x3210u, 0x7654u, 0x0123u, 0xfedcu, 0x9a5fu, 0x12345555u})
    EXPECT_EQ(evaluate<uint32_t>("prmt.b32 %d, %a, %b, %c;", a, b, c),
              permuted(a, b, c));
  EXPECT_EQ(evaluate<uint32_t>("prmt.b32.f4e %d, %a, %b, %c;", a, b, 1u),
            permuted(a, b, 0x4321));
  EXPECT_EQ(evaluate<uint32_t>("prmt.b32.b4e %d, %a, %b, %c;", a, b, 2u),
            permuted(a, b, 0x7012));
  EXPECT_EQ(evaluate<uint32_t>("prmt.b32.rc8 %d, %a, %b, %c;", a, b, 3u),
            permuted(a, b, 0x3333));
  EXPECT_EQ(evaluate<uint32_t>("prmt.b32.ecl %d, %a, %b, %c;", a, b, 1u),
            permuted(a, b, 0x3211));
  EXPECT_EQ(evaluate<uint32_t>("prmt.b32.ecr %d, %a, %b, %c;", a, b, 1u),
            permuted(a, b, 0x1110));
  EXPECT_EQ(evaluate<uint32_t>("prmt.b32.rc16 %d, %a, %b, %c;", a, b, 1u),
            permuted(a, b, 0x3232));
}

// As the ISA's pseudo-code says.
uint64_t extracted(uint64_t a, uint32_t pos, uint32_t len, bool isSigned,
                   int msb) {
  pos &= 255;
  len &= 255;
  uint64_t mask = msb == 31 ? 0xffffffffull : ~0ull;
  a &= mask;
  bool sign = false;
  if (isSigned && len)
    sign = a >> std::min<uint32_t>(pos + len - 1, msb) & 1;
  uint64_t d = sign ? mask : 0;
  for (int i = 0; i <= msb; ++i)
    if (i < int(len) && pos + i <= uint32_t(msb)) {
      uint64_t bit = a >> (pos + i) & 1;
      d = (d & ~(1ull << i)) | bit << i;
    }
  return d;
}

TEST(TranslateLogic, BitFields) {
  const uint32_t places[] = {0, 1, 5, 16, 31, 32, 33, 63, 64, 100, 255, 256};
  for (uint32_t a : kWords)
    for (uint32_t pos : places)
      for (uint32_t len : places) {
        SCOPED_TRACE(std::to_string(a) + " " + std::to_string(pos) + " " +
                     std::to_string(len));
        EXPECT_EQ(evaluate<uint32_t>("bfe.u32 %d, %a, %b, %c;", a, pos, len),
                  extracted(a, pos, len, false, 31));
        EXPECT_EQ(evaluate<uint32_t>("bfe.s32 %d, %a, %b, %c;", a, pos, len),
                  extracted(a, pos, len, true, 31));
        uint64_t wide = uint64_t(a) << 32 | 0x13579bdf;
        EXPECT_EQ(evaluate<uint64_t>("bfe.s64 %d, %a, %b, %c;", wide, pos, len),
                  extracted(wide, pos, len, true, 63));
        uint32_t inserted = 0x55aa55aa;
        for (uint32_t i = 0; i < (len & 255) && (pos & 255) + i < 32; ++i) {
          uint32_t at = (pos & 255) + i;
          uint32_t bit = i < 32 ? a >> i & 1 : 0;
          inserted = (inserted & ~(1u << at)) | bit << at;
        }
        EXPECT_EQ(evaluate<uint32_t>("{ .reg .b32 %x; mov.b32 %x, 0x55aa55aa;"
                                     "bfi.b32 %d, %a, %x, %b, %c; }",
                                     a, pos, len),
                  inserted);
      }
}

TEST(TranslateLogic, CountsAndFinds) {
  for (uint32_t a : kWords) {
    uint32_t reversed = 0;
    for (int i = 0; i < 32; ++i)
      reversed |= (a >> i & 1) << (31 - i);
    EXPECT_EQ(evaluate<uint32_t>("popc.b32 %d, %a;", a),
              uint32_t(__builtin_popcount(a)));
    EXPECT_EQ(evaluate<uint32_t>("clz.b32 %d, %a;", a),
              a ? uint32_t(__builtin_clz(a)) : 32);
    EXPECT_EQ(evaluate<uint32_t>("brev.b32 %d, %a;", a), reversed);
    EXPECT_EQ(evaluate<uint32_t>("bfind.u32 %d, %a;", a),
              a ? 31 - uint32_t(__builtin_clz(a)) : ~0u);
    uint32_t folded = int32_t(a) < 0 ? ~a : a;
    EXPECT_EQ(evaluate<uint32_t>("bfind.s32 %d, %a;", a),
              folded ? 31 - uint32_t(__builtin_clz(folded)) : ~0u);
    EXPECT_EQ(evaluate<uint32_t>("bfind.shiftamt.u32 %d, %a;", a),
              a ? uint32_t(__builtin_clz(a)) : ~0u);
  }
  EXPECT_EQ(evaluate<uint32_t>("clz.b64 %d, %a;", uint64_t(1)), 63u);
  EXPECT_EQ(evaluate<uint32_t>("popc.b64 %d, %a;", ~uint64_t(0)), 64u);
}

TEST(TranslateLogic, ComparesIntegers) {
  for (uint32_t a : kWords)
    for (uint32_t b : kWords) {
      EXPECT_EQ(evaluate<bool>("setp.lt.s32 %d, %a, %b;", a, b),
                int32_t(a) < int32_t(b));
      EXPECT_EQ(evaluate<bool>("setp.lt.u32 %d, %a, %b;", a, b), a < b);
      EXPECT_EQ(evaluate<bool>("setp.hs.u32 %d, %a, %b;", a, b), a >= b);
      EXPECT_EQ(evaluate<bool>("setp.eq.b32 %d, %a, %b;", a, b), a == b);
      EXPECT_EQ(evaluate<uint32_t>("set.le.u32.s32 %d, %a, %b;", a, b),
                int32_t(a) <= int32_t(b) ? ~0u : 0u);
      EXPECT_EQ(evaluate<float>("set.gt.f32.u32 %d, %a, %b;", a, b),
                a > b ? 1.0f : 0.0f);
    }
}

TEST(TranslateLogic, ComparesFloatsOrderedAndUnordered) {
  const float values[] = {0.0f,
                          -0.0f,
                          1.0f,
                          -2.0f,
                          1e-40f,
                          std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN()};
  for (float a : values)
    for (float b : values) {
      bool nan = std::isnan(a) || std::isnan(b);
      EXPECT_EQ(evaluate<bool>("setp.eq.f32 %d, %a, %b;", a, b), a == b);
      EXPECT_EQ(evaluate<bool>("setp.ne.f32 %d, %a, %b;", a, b),
                !nan && a != b);
      EXPECT_EQ(evaluate<bool>("setp.neu.f32 %d, %a, %b;", a, b), a != b);
      EXPECT_EQ(evaluate<bool>("setp.ge.f32 %d, %a, %b;", a, b), a >= b);
      EXPECT_EQ(evaluate<bool>("setp.ltu.f32 %d, %a, %b;", a, b), !(a >= b));
      EXPECT_EQ(evaluate<bool>("setp.num.f32 %d, %a, %b;", a, b), !nan);
      EXPECT_EQ(evaluate<bool>("setp.nan.f32 %d, %a, %b;", a, b), nan);
    }
  EXPECT_TRUE(evaluate<bool>("setp.eq.ftz.f32 %d, %a, %b;", 1e-40f, 0.0f));
  EXPECT_FALSE(evaluate<bool>("setp.eq.f32 %d, %a, %b;", 1e-40f, 0.0f));
}

TEST(TranslateLogic, CombinesPredicates) {
  for (bool c : {false, true})
    for (uint32_t a : {3u, 4u}) {
      bool less = a < 4;
      EXPECT_EQ(evaluate<bool>("setp.lt.and.u32 %d, %a, 4, %b;", a, c),
                less && c);
      EXPECT_EQ(evaluate<bool>("setp.lt.or.u32 %d, %a, 4, !%b;", a, c),
                less || !c);
      EXPECT_EQ(evaluate<bool>("setp.lt.xor.u32 %d|%q, %a, 4, %b;", a, c),
                less != c);
      EXPECT_EQ(evaluate<bool>("setp.lt.and.u32 %q|%d, %a, 4, %b;", a, c),
                !less && c);
      EXPECT_EQ(evaluate<bool>("setp.lt.and.u32 _|%d, %a, 4, %b;", a, c),
                !less && c);
    }
}

TEST(TranslateLogic, Selects) {
  EXPECT_EQ(evaluate<uint32_t>("selp.b32 %d, %a, %b, %c;", 1u, 2u, true), 1u);
  EXPECT_EQ(evaluate<float>("selp.f32 %d, %a, %b, %c;", 1.f, 2.f, false), 2.f);
  EXPECT_EQ(evaluate<uint32_t>("slct.u32.s32 %d, %a, %b, %c;", 1u, 2u, -3), 2u);
  EXPECT_EQ(evaluate<uint32_t>("slct.b32.f32 %d, %a, %b, %c;", 1u, 2u, -0.0f),
            1u);
  EXPECT_EQ(evaluate<uint32_t>("slct.b32.f32 %d, %a, %b, %c;", 1u, 2u,
                               std::numeric_limits<float>::quiet_NaN()),
            2u);
}

TEST(TranslateLogic, MovesPackAndUnpack) {
  EXPECT_EQ(evaluate<uint64_t>("mov.b64 %d, {%a, %b};", 1u, 2u),
            0x200000001ull);
  EXPECT_EQ(
      evaluate<uint32_t>("mov.b32 %d, {%a, %b};", uint16_t(1), uint16_t(2)),
      0x20001u);
  EXPECT_EQ(evaluate<uint32_t>("mov.b64 {_, %d}, %a;", 0x200000001ull), 2u);
  EXPECT_EQ(evaluate<uint64_t>("mov.b64 %d, {%a, %a, %b, %b};", uint16_t(1),
                               uint16_t(2)),
            0x2000200010001ull);
  EXPECT_EQ(evaluate<uint32_t>("mov.b32 %d, %a;", 1.0f), 0x3f800000u);
  EXPECT_EQ(evaluate<float>("mov.f32 %d, 0f40490fdb;"), 3.14159274f);
  EXPECT_EQ(evaluate<float>("mov.b32 %d, 0f3f800000;"), 1.0f);
  EXPECT_EQ(evaluate<double>("mov.f64 %d, 0d3ff8000000000000;"), 1.5);
  EXPECT_EQ(evaluate<float>("add.f32 %d, %a, 0.5;", 1.0f), 1.5f);
  EXPECT_EQ(evaluate<uint32_t>("mov.u32 %d, -1;"), ~0u);
}

} // namespace
} // namespace pascaline::emulator::test
