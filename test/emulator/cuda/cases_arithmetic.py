"""Integer arithmetic and bits, element by element."""

import numpy as np
from driver import case, rng, same

EDGES = np.array([0, 1, 2, 3, 7, 31, 32, 33, 255, 256, 65535, 65536, 0x12345678, 0x7FFFFFFF,
                  0x80000000, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF], np.uint32)


def pairs():
    """Every pair of edges, and random ones."""
    a, b = (x.ravel() for x in np.meshgrid(EDGES, EDGES))
    more = rng().integers(0, 1 << 32, (2, 188), dtype=np.uint32)
    return np.concatenate([a, more[0]]), np.concatenate([b, more[1]])


A, B = pairs()
SIZE = np.int32(A.size)
SIGNED_A, SIGNED_B = A.view(np.int32), B.view(np.int32)


def binary(name, kind, expression, expected):
    """A kernel out[i] = f(a[i], b[i]) over all pairs, as a case."""
    source = (f"__global__ void {name}(const {kind} *a, const {kind} *b, {kind} *out, int n) {{"
              " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) {"
              f" {kind} x = a[i], y = b[i]; out[i] = {expression}; }} }}")
    dtype = {"int": np.int32, "unsigned": np.uint32}[kind]

    def check(run):
        out = np.zeros(A.size, dtype)
        run((A.size + 63) // 64, 64, A.copy(), B.copy(), out, SIZE)
        same(out, np.asarray(expected).astype(dtype))
    check.__name__ = name
    case(source)(check)


def bits_of(x, count):
    """The lowest bits of each number, as columns."""
    return (x[:, None] >> np.arange(count, dtype=np.uint32)) & 1


def permuted(a, b, selector):
    """__byte_perm."""
    both = (b.astype(np.uint64) << 32) | a
    out = np.zeros(a.size, np.uint32)
    for i in range(4):
        place = (selector >> (4 * i)) & 7
        out |= ((both >> (8 * place).astype(np.uint64)) & 255).astype(np.uint32) << (8 * i)
    return out


WIDE = (B.astype(np.uint64) << np.uint64(32)) | A
binary("mul_high_signed", "int", "__mulhi(x, y)",
       (SIGNED_A.astype(np.int64) * SIGNED_B) >> 32)
binary("mul_high_unsigned", "unsigned", "__umulhi(x, y)",
       (A.astype(np.uint64) * B) >> np.uint64(32))
binary("count_leading_zeros", "int", "__clz(x) + 100 * __popc(y)",
       np.array([32 - int(x).bit_length() for x in A]) + 100 * bits_of(B, 32).sum(1))
binary("find_first_set", "int", "__ffs(x)",
       [(int(x) & -int(x)).bit_length() for x in A])
binary("bit_reverse", "unsigned", "__brev(x) ^ y",
       np.array([int(f"{x:032b}"[::-1], 2) for x in A]) ^ B)
binary("byte_permute", "unsigned", "__byte_perm(x, y, 0x3715) + __byte_perm(x, y, x)",
       permuted(A, B, np.full(A.size, 0x3715, np.uint32)) + permuted(A, B, A))
binary("funnel_shift", "unsigned", "__funnelshift_l(x, y, x) ^ __funnelshift_r(x, y, y)",
       (((WIDE << (A & 31).astype(np.uint64)) >> np.uint64(32))
        ^ (WIDE >> (B & 31).astype(np.uint64))).astype(np.uint32))
binary("funnel_shift_clamped", "unsigned", "__funnelshift_rc(x, y, y)",
       np.where(B >= 32, B, (WIDE >> np.minimum(B, 31).astype(np.uint64)).astype(np.uint32)))
binary("sum_of_differences", "unsigned", "__usad(x, y, 7u)",
       np.where(A > B, A - B, B - A) + np.uint32(7))
binary("averages", "int", "__hadd(x, y)", (SIGNED_A.astype(np.int64) + SIGNED_B) >> 1)
binary("min_max_clamp", "int", "max(min(x, y), -5) + abs(y)",
       np.maximum(np.minimum(SIGNED_A, SIGNED_B), -5) + np.abs(SIGNED_B))
binary("divide_signed", "int", "y == 0 ? 0 : x / (y == -1 ? 3 : y)",
       [0 if y == 0 else int(abs(int(x)) // abs(d)) * (1 if (x < 0) == (d < 0) else -1)
        for x, y in zip(SIGNED_A, SIGNED_B) for d in [3 if y == -1 else int(y)]])
binary("remainder_unsigned", "unsigned", "x % (y | 1u) + x / 10u + x % 1000u",
       A % (B | np.uint32(1)) + A // np.uint32(10) + A % np.uint32(1000))
binary("three_input_logic", "unsigned", "(x & y) | (~x & 0x0f0f0f0fu) ^ (y << 3)",
       (A & B) | ((~A & np.uint32(0x0F0F0F0F)) ^ (B << np.uint32(3))))
binary("bit_fields", "unsigned", "((x >> 5) & 0x7ffu) | ((y & 0x1ffu) << 20)",
       ((A >> np.uint32(5)) & np.uint32(0x7FF)) | ((B & np.uint32(0x1FF)) << np.uint32(20)))


@case("""
__global__ void dot_products(const int *a, const int *b, int *out, unsigned *unsignedOut, int n) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i >= n) return;
  int d;
  asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a[i]), "r"(b[i]), "r"(i));
  out[i] = d;
  unsigned u;
  asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(u) : "r"(a[i]), "r"(b[i]), "r"(i));
  unsignedOut[i] = u;
}""")
def dot_products(run):
    """dp4a, signed and unsigned."""
    out, unsigned_out = np.zeros(A.size, np.int32), np.zeros(A.size, np.uint32)
    run(32, 32, A, B, out, unsigned_out, SIZE)
    index = np.arange(A.size)
    for kind, got in ((np.int8, out), (np.uint8, unsigned_out)):
        x, y = (v.view(kind).reshape(-1, 4).astype(np.int64) for v in (A, B))
        same(got, ((x * y).sum(1) + index).astype(got.dtype))


@case("""
__global__ void dot_two_way(const int *a, const int *b, int *out, int n) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i >= n) return;
  int lo, hi;
  asm("dp2a.lo.s32.s32 %0, %1, %2, %3;" : "=r"(lo) : "r"(a[i]), "r"(b[i]), "r"(5));
  asm("dp2a.hi.s32.u32 %0, %1, %2, %3;" : "=r"(hi) : "r"(a[i]), "r"(b[i]), "r"(lo));
  out[i] = hi;
}""")
def dot_two_way(run):
    """dp2a: the low, signed bytes, then the high, unsigned ones."""
    out = np.zeros(A.size, np.int32)
    run(32, 32, A, B, out, SIZE)
    x = A.view(np.int16).reshape(-1, 2).astype(np.int64)
    low = B.view(np.int8).reshape(-1, 4)[:, :2]
    high = B.view(np.uint8).reshape(-1, 4)[:, 2:]
    same(out, (5 + (x * low).sum(1) + (x * high).sum(1)).astype(np.int32))


@case("""
__global__ void wide_integers(const long long *a, const long long *b, long long *sum,
                              long long *product, unsigned long long *high, long long *quotient) {
  int i = threadIdx.x;
  sum[i] = a[i] + b[i];
  product[i] = a[i] * b[i];
  high[i] = __umul64hi(a[i], b[i]);
  quotient[i] = (a[i] >> 1) / (b[i] | 1) + __clzll(a[i]) + __popcll(b[i]) + __ffsll(a[i]);
}""")
def wide_integers(run):
    """64-bit sums, products, quotients and counts."""
    a, b = rng(3).integers(-(1 << 63), (1 << 63) - 1, (2, 256), dtype=np.int64)
    a[:4], b[:4] = [0, -1, 1, -(1 << 63)], [-(1 << 63), -1, 5, 2]
    results = [np.zeros(256, kind) for kind in (np.int64, np.int64, np.uint64, np.int64)]
    run(1, 256, a, b, *results)
    same(results[0], a + b)
    same(results[1], a * b)
    unsigned = [(int(x) % (1 << 64), int(y) % (1 << 64)) for x, y in zip(a, b)]
    same(results[2], np.array([x * y >> 64 for x, y in unsigned], np.uint64))
    want = []
    for x, (low, other) in zip(zip(a, b), unsigned):
        top, bottom = int(x[0]) >> 1, int(x[1]) | 1
        quotient = abs(top) // abs(bottom) * (1 if (top < 0) == (bottom < 0) else -1)
        want.append(quotient + 64 - low.bit_length() + bin(other).count("1")
                    + (low & -low).bit_length())
    same(results[3], np.array(want, np.int64))


@case("""
__global__ void carry_chain(const unsigned *a, const unsigned *b, unsigned *out) {
  unsigned x, y, z, w, i = threadIdx.x * 4;
  asm("add.cc.u32 %0, %4, %8; addc.cc.u32 %1, %5, %9; addc.cc.u32 %2, %6, %10;"
      "addc.u32 %3, %7, %11;" : "=&r"(x), "=&r"(y), "=&r"(z), "=&r"(w)
      : "r"(a[i]), "r"(a[i + 1]), "r"(a[i + 2]), "r"(a[i + 3]),
        "r"(b[i]), "r"(b[i + 1]), "r"(b[i + 2]), "r"(b[i + 3]));
  out[i] = x; out[i + 1] = y; out[i + 2] = z; out[i + 3] = w;
}""")
def carry_chain(run):
    """128-bit sums by add.cc and addc."""
    a, b = rng(4).choice(EDGES, (2, 64, 4))
    out = np.zeros((64, 4), np.uint32)
    run(1, 64, np.ascontiguousarray(a), np.ascontiguousarray(b), out)
    value = [[sum(int(w) << (32 * k) for k, w in enumerate(row)) for row in m] for m in (a, b, out)]
    same([(x + y) % (1 << 128) == z for x, y, z in zip(*value)], True)
