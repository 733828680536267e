"""Floating point: rounding, functions, halves, and what is made of them."""

import numpy as np
from driver import case, close, rng, same

EDGES = np.array([0, -0.0, 1, -1, 0.5, 1.5, 2.5, -2.5, 1e-40, -1e-40, 1e-45, 3.4e38, -3.4e38,
                  2147483648, -2147483649, 1e10, 65504, 65536, np.inf, -np.inf, np.nan], np.float32)


def normal(*shape, seed=1):
    """Normally distributed f32."""
    return rng(seed).standard_normal(shape).astype(np.float32)


def unary(name, expression, reference, values, rtol, atol=0.0):
    """A kernel out[i] = f(a[i]) as a case, against numpy in f64."""
    source = (f"__global__ void {name}(const float *a, float *out, int n) {{"
              " int i = blockIdx.x * blockDim.x + threadIdx.x;"
              f" if (i < n) {{ float x = a[i]; out[i] = {expression}; }} }}")
    values = np.asarray(values, np.float32)

    def check(run):
        out = np.zeros_like(values)
        run((values.size + 127) // 128, 128, values.copy(), out, np.int32(values.size))
        close(out, reference(values.astype(np.float64)), rtol=rtol, atol=atol)
    check.__name__ = name
    case(source)(check)


SPREAD = np.linspace(-20, 20, 1001)
POSITIVE = np.geomspace(1e-6, 1e6, 1001)
unary("exp_precise", "expf(x)", np.exp, SPREAD, 1e-6)
unary("exp_fast", "__expf(x)", np.exp, SPREAD, 1e-5)
unary("exp2_10", "exp2f(x) + exp10f(x / 4)", lambda x: 2**x + 10 ** (x / 4), SPREAD, 1e-6)
unary("log_precise", "logf(x) + log1pf(x)", lambda x: np.log(x) + np.log1p(x), POSITIVE, 1e-6, 1e-6)
unary("log_fast", "__logf(x) + __log2f(x)", lambda x: np.log(x) + np.log2(x), POSITIVE, 1e-5, 1e-5)
unary("sin_precise", "sinf(x * 1000)", lambda x: np.sin((x.astype(np.float32) * np.float32(1000))
                                                         .astype(np.float64)), SPREAD, 0, 1e-6)
unary("cos_large", "cosf(x * 1e6f)", lambda x: np.cos((x.astype(np.float32) * np.float32(1e6))
                                                      .astype(np.float64)), SPREAD, 0, 1e-6)
unary("sin_cos_fast", "__sinf(x / 8) * __cosf(x / 8)", lambda x: np.sin(x / 8) * np.cos(x / 8),
      SPREAD, 0, 2e-6)
unary("hyperbolic", "tanhf(x) + sinhf(x / 4)", lambda x: np.tanh(x) + np.sinh(x / 4), SPREAD,
      1e-6, 1e-6)
unary("power", "powf(x, 1.7f)", lambda x: x ** np.float64(np.float32(1.7)), POSITIVE, 2e-6)
unary("roots", "sqrtf(x) + rsqrtf(x) + cbrtf(x)", lambda x: np.sqrt(x) + x**-0.5 + np.cbrt(x),
      POSITIVE, 1e-6)
unary("rounding", "floorf(x) + 100 * ceilf(x) + 1e4f * rintf(x) + 1e6f * truncf(x)",
      lambda x: np.floor(x) + 100 * np.ceil(x) + 1e4 * np.rint(x) + 1e6 * np.trunc(x),
      SPREAD, 1e-6)


@case("""
__device__ double erfSeries(double x) {
  double term = x, sum = x;
  for (int k = 1; k < 60; ++k) { term *= -x * x / k; sum += term / (2 * k + 1); }
  return sum * 1.1283791670955126;
}
__global__ void error_function(const float *a, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = erff(a[i]) - (float)erfSeries(a[i]);
}""")
def error_function(run):
    """erff against its series in f64."""
    a, out = np.linspace(-3, 3, 256, dtype=np.float32), np.zeros(256, np.float32)
    run(2, 128, a, out)
    close(out, 0, atol=5e-7)


@case("""
__global__ void round_to_integer(const float *a, int *even, int *down, int *up, int *zero,
                                 unsigned *sign, long long *wide) {
  int i = threadIdx.x;
  even[i] = __float2int_rn(a[i]);
  down[i] = __float2int_rd(a[i]);
  up[i] = __float2int_ru(a[i]);
  zero[i] = (int)a[i];
  sign[i] = __float2uint_rz(a[i]);
  wide[i] = __float2ll_rn(a[i]);
}""")
def round_to_integer(run):
    """cvt in four modes, which saturates and takes NaN to 0 (64 bits: to INT64_MIN)."""
    n = EDGES.size
    out = [np.zeros(n, np.int32) for _ in range(4)]
    sign, wide = np.zeros(n, np.uint32), np.zeros(n, np.int64)
    run(1, n, EDGES, *out, sign, wide)
    number = np.nan_to_num(EDGES.astype(np.float64), nan=0.0, posinf=1e30, neginf=-1e30)
    for got, mode in zip(out, (np.rint, np.floor, np.ceil, np.trunc)):
        same(got, np.clip(mode(number), -(2**31), 2**31 - 1).astype(np.int64))
    same(sign, np.clip(np.trunc(number), 0, 2**32 - 1).astype(np.int64))
    limit = 2**63
    want = [max(-limit, min(limit - 1, int(np.rint(x)))) for x in number]
    same(wide[:-1], want[:-1])
    assert wide[-1] in (0, -limit), "NaN to a 64-bit integer"


@case("""
__global__ void directed_rounding(const float *a, const float *b, float *up, float *down,
                                  float *zero, float *quotient) {
  int i = threadIdx.x;
  up[i] = __fadd_ru(a[i], b[i]);
  down[i] = __fmul_rd(a[i], b[i]);
  zero[i] = __fmaf_rz(a[i], b[i], 1.0f);
  quotient[i] = __fdiv_ru(a[i], b[i]);
}""")
def directed_rounding(run):
    """add, mul, fma and div that do not round to nearest, against f64."""
    a, b = normal(256), np.abs(normal(256, seed=2)) + np.float32(0.01)
    out = [np.zeros(256, np.float32) for _ in range(4)]
    run(1, 256, a, b, *out)
    wide = a.astype(np.float64), b.astype(np.float64)
    for got, exact, mode in ((out[0], wide[0] + wide[1], 1), (out[1], wide[0] * wide[1], -1),
                             (out[3], wide[0] / wide[1], 1)):
        near = exact.astype(np.float32)
        wrong = near < exact if mode > 0 else near > exact
        same(got, np.where(wrong, np.nextafter(near, np.float32(mode * np.inf)), near))
    close(out[2], wide[0] * wide[1] + 1, rtol=2e-7)
    assert (np.abs(out[2]) <= np.abs(wide[0] * wide[1] + 1) * (1 + 1e-15)).all()


@case("""
__global__ void edge_values(const float *a, const float *b, float *low, float *sum,
                            float *product, float *quotient, int *order) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = a[i], y = b[i];
  low[i] = fminf(x, y);
  sum[i] = x + y;
  product[i] = x * y;
  quotient[i] = x / y;
  order[i] = (x < y) | (x <= y) << 1 | (x == y) << 2 | (x != y) << 3 | (x >= y) << 4 |
             (x > y) << 5 | isnan(x) << 6 | isinf(y) << 7 | signbit(x) << 8;
}""")
def edge_values(run):
    """Zeros, denormals, infinities and NaN, in all pairs."""
    a, b = (np.ascontiguousarray(x.ravel()) for x in np.meshgrid(EDGES, EDGES))
    out = [np.zeros(a.size, np.float32) for _ in range(4)]
    order = np.zeros(a.size, np.int32)
    run(EDGES.size, EDGES.size, a, b, *out, order)
    with np.errstate(all="ignore"):
        for got, want in zip(out, (np.fmin(a, b), a + b, a * b, a / b)):
            same(got, want)
        bits = (a < b, a <= b, a == b, a != b, a >= b, a > b, np.isnan(a), np.isinf(b),
                np.signbit(a))
    same(order & 511, sum(x.astype(np.int32) << k for k, x in enumerate(bits)))


@case("""
__global__ void f64_math(const double *a, double *root, double *quotient, double *fused,
                         double *e, double *sine) {
  int i = threadIdx.x;
  root[i] = sqrt(fabs(a[i]));
  quotient[i] = 1 / a[i];
  fused[i] = fma(a[i], a[i], -1.0);
  e[i] = exp(a[i]) + log(fabs(a[i]));
  sine[i] = sin(a[i]) + cos(a[i] * 50);
}""")
def f64_math(run):
    """f64: exact operations to the bit, functions to 1e-14."""
    a = rng().standard_normal(256)
    out = [np.zeros(256) for _ in range(5)]
    run(1, 256, a, *out)
    same(out[0], np.sqrt(np.abs(a)))
    same(out[1], 1 / a)
    close(out[2], (a.astype(np.longdouble) ** 2 - 1).astype(np.float64), rtol=1e-13, atol=1e-18)
    close(out[3], np.exp(a) + np.log(np.abs(a)), rtol=1e-13, atol=1e-14)
    close(out[4], np.sin(a) + np.cos(a * 50), rtol=1e-13, atol=1e-14)


@case("""
__global__ void half_conversions(const float *a, unsigned short *out, float *back) {
  int i = threadIdx.x;
  unsigned short h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(a[i]));
  out[i] = h;
  asm("cvt.f32.f16 %0, %1;" : "=f"(back[i]) : "h"(h));
}""")
def half_conversions(run):
    """f32 to f16 and back, with denormals and overflow."""
    a = np.concatenate([EDGES[:-1], normal(100), normal(135) * np.float32(1e-6)])
    out, back = np.zeros(a.size, np.float16), np.zeros(a.size, np.float32)
    run(1, a.size, a, out, back)
    with np.errstate(all="ignore"):
        want = a.astype(np.float16)
    same(out, want)
    same(back, want.astype(np.float32))


@case("""
__global__ void half_arithmetic(const unsigned short *a, const unsigned short *b,
                                unsigned short *sum, unsigned short *product) {
  int i = threadIdx.x;
  asm("add.f16 %0, %1, %2;" : "=h"(sum[i]) : "h"(a[i]), "h"(b[i]));
  asm("mul.f16 %0, %1, %2;" : "=h"(product[i]) : "h"(a[i]), "h"(b[i]));
}""")
def half_arithmetic(run):
    """f16 sums and products to the bit."""
    a, b = normal(2, 256).astype(np.float16)
    total, product = np.zeros(256, np.float16), np.zeros(256, np.float16)
    run(1, 256, a, b, total, product)
    same(total, a + b)
    same(product, a * b)


@case("""
__global__ void half2_fma(const unsigned *a, const unsigned *b, const unsigned *c, unsigned *out) {
  int i = threadIdx.x;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(out[i]) : "r"(a[i]), "r"(b[i]), "r"(c[i]));
}""")
def half2_fma(run):
    """Two halves at once, rounded once."""
    a, b, c = normal(3, 256).astype(np.float16)
    out = np.zeros(256, np.float16)
    run(1, 128, a, b, c, out)
    same(out, (a.astype(np.float64) * b + c).astype(np.float16))


@case("""
__global__ void sgemm(const float *a, const float *b, float *c, int m, int n, int k) {
  __shared__ float as[16][16], bs[16][17];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0;
  for (int p = 0; p < k; p += 16) {
    as[y][x] = row < m && p + x < k ? a[row * k + p + x] : 0;
    bs[y][x] = column < n && p + y < k ? b[(p + y) * n + column] : 0;
    __syncthreads();
#pragma unroll
    for (int q = 0; q < 16; ++q) sum += as[y][q] * bs[q][x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}""")
def sgemm(run):
    """A tiled product with edges."""
    a, b, c = normal(50, 70), normal(70, 45, seed=2), np.zeros((50, 45), np.float32)
    run((3, 4), (16, 16), a, b, c, *np.array([50, 45, 70], np.int32))
    close(c, a.astype(np.float64) @ b, atol=1e-4)


@case("""
__global__ void dgemm(const double *a, const double *b, double *c, int n) {
  double sum = 0;
  for (int k = 0; k < n; ++k) sum = fma(a[blockIdx.x * n + k], b[k * n + threadIdx.x], sum);
  c[blockIdx.x * n + threadIdx.x] = sum;
}""")
def dgemm(run):
    """A product in f64."""
    a, b = rng().standard_normal((2, 40, 40))
    c = np.zeros((40, 40))
    run(40, 40, a, b, c, np.int32(40))
    close(c, a @ b, rtol=1e-12, atol=1e-12)


@case("""
__global__ void softmax(const float *a, float *out, int n) {
  __shared__ float s[64];
  int t = threadIdx.x;
  a += blockIdx.x * n;
  float top = -INFINITY, sum = 0;
  for (int i = t; i < n; i += 64) top = fmaxf(top, a[i]);
  s[t] = top;
  for (int k = 32; k; k /= 2) { __syncthreads(); if (t < k) s[t] = fmaxf(s[t], s[t + k]); }
  __syncthreads();
  top = s[0];
  __syncthreads();
  for (int i = t; i < n; i += 64) sum += expf(a[i] - top);
  s[t] = sum;
  for (int k = 32; k; k /= 2) { __syncthreads(); if (t < k) s[t] += s[t + k]; }
  __syncthreads();
  for (int i = t; i < n; i += 64) out[blockIdx.x * n + i] = expf(a[i] - top) / s[0];
}""".replace("INFINITY", "__int_as_float(0x7f800000)"))
def softmax(run):
    """Three passes over a row."""
    a = normal(6, 150) * 5
    out = np.zeros_like(a)
    run(6, 64, a, out, np.int32(150))
    e = np.exp(a.astype(np.float64) - a.max(1, keepdims=True))
    close(out, e / e.sum(1, keepdims=True), atol=1e-8)


@case("""
__device__ float all_lanes(float x) {
  for (int k = 16; k; k /= 2) x += __shfl_xor_sync(~0u, x, k);
  return x;
}
__global__ void layernorm(const float *a, const float *scale, const float *bias, float *out) {
  int lane = threadIdx.x, row = blockIdx.x * blockDim.y + threadIdx.y;
  float v[3], mean = 0, square = 0;
  for (int k = 0; k < 3; ++k) mean += v[k] = a[row * 96 + k * 32 + lane];
  mean = all_lanes(mean) / 96;
  for (int k = 0; k < 3; ++k) square += (v[k] - mean) * (v[k] - mean);
  float factor = rsqrtf(all_lanes(square) / 96 + 1e-5f);
  for (int k = 0; k < 3; ++k) {
    int i = k * 32 + lane;
    out[row * 96 + i] = (v[k] - mean) * factor * scale[i] + bias[i];
  }
}""")
def layernorm(run):
    """A warp for each row."""
    a, scale, bias = normal(8, 96), normal(96, seed=2), normal(96, seed=3)
    out = np.zeros_like(a)
    run(2, (32, 4), a, scale, bias, out)
    wide = a.astype(np.float64)
    centred = wide - wide.mean(1, keepdims=True)
    close(out, centred / np.sqrt(wide.var(1, keepdims=True) + 1e-5) * scale + bias, atol=1e-5)


@case("""
__global__ void nbody(const float4 *bodies, float3 *pull, int n) {
  __shared__ float4 s[32];
  float4 own = bodies[blockIdx.x * 32 + threadIdx.x];
  float3 sum = make_float3(0, 0, 0);
  for (int p = 0; p < n; p += 32) {
    s[threadIdx.x] = bodies[p + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < 32; ++k) {
      float x = s[k].x - own.x, y = s[k].y - own.y, z = s[k].z - own.z;
      float r = rsqrtf(x * x + y * y + z * z + 0.01f), f = s[k].w * r * r * r;
      sum.x += x * f; sum.y += y * f; sum.z += z * f;
    }
    __syncthreads();
  }
  pull[blockIdx.x * 32 + threadIdx.x] = sum;
}""")
def nbody(run):
    """Forces by tiles of float4."""
    bodies, pull = normal(96, 4), np.zeros((96, 3), np.float32)
    run(3, 32, bodies, pull, np.int32(96))
    wide = bodies.astype(np.float64)
    apart = wide[None, :, :3] - wide[:, None, :3]
    r = ((apart**2).sum(2) + 0.01) ** -1.5 * wide[:, 3]
    close(pull, (apart * r[:, :, None]).sum(1), rtol=1e-4, atol=1e-3)
