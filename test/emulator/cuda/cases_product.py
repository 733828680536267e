"""Products and convolutions as compilers for inference write them, exact against numpy.

Tiles in shared memory with two stages, half as storage only, dp4a, and a convolution as a
product whose columns are found by a table in constant memory, read plainly and by tex.1d.
Operands are small integers, so every sum is exact in float whatever its order.
"""

import numpy as np

from driver import case, rng, same

TILE = 32


def integers(*shape, seed=1, high=8):
    """Random integers in a float's reach."""
    return rng(seed).integers(-high, high + 1, shape)


def product_source(name, stored, loaded, multiply, zero, kind):
    """C = A^T B in tiles of 32 x 32: a thread computes 2 x 2, tiles alternate."""
    return f"""
__global__ void __launch_bounds__(256) {name}(const {stored} *a, const {stored} *b, {kind} *c,
                                              int m, int n, int k) {{
  __shared__ {kind} as[2][8][{TILE}], bs[2][8][{TILE}];
  int tid = threadIdx.x, row = tid / 32, column = tid % 32;
  int tx = tid % 16 * 2, ty = tid / 16 * 2;
  {kind} sums[2][2] = {{{{{zero}, {zero}}}, {{{zero}, {zero}}}}};
  a += blockIdx.y * {TILE} + column;
  b += blockIdx.x * {TILE} + column;
  for (int at = 0, stage = 0; at < k; at += 8, stage ^= 1) {{
    as[stage][row][column] = {loaded.format("a[(at + row) * m]")};
    bs[stage][row][column] = {loaded.format("b[(at + row) * n]")};
    __syncthreads();
    for (int i = 0; i < 8; ++i)
      for (int y = 0; y < 2; ++y)
        for (int x = 0; x < 2; ++x)
          sums[y][x] = {multiply.format("as[stage][i][ty + y]", "bs[stage][i][tx + x]",
                                        "sums[y][x]")};
  }}
  for (int y = 0; y < 2; ++y)
    for (int x = 0; x < 2; ++x)
      c[(blockIdx.y * {TILE} + ty + y) * n + blockIdx.x * {TILE} + tx + x] = sums[y][x];
}}
"""


HALF = """
static __device__ float widened(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
"""


def run_product(run, a, b, result):
    """Launch over all tiles."""
    (k, m), n = a.shape, b.shape[1]
    run((n // TILE, m // TILE), 256, a, b, result, np.int32(m), np.int32(n), np.int32(k))


@case(product_source("product_of_floats", "float", "{}", "__fmaf_rn({}, {}, {})", "0.0f", "float"))
def product_of_floats(run):
    a, b = integers(40, 64).astype(np.float32), integers(40, 96, seed=2).astype(np.float32)
    c = np.zeros((64, 96), np.float32)
    run_product(run, a, b, c)
    same(c, a.T @ b)


@case(product_source("product_of_halves", "unsigned short", "widened({})", "__fmaf_rn({}, {}, {})",
                     "0.0f", "float").replace("__global__", HALF + "__global__", 1))
def product_of_halves(run):
    a, b = integers(40, 64).astype(np.float16), integers(40, 96, seed=2).astype(np.float16)
    c = np.zeros((64, 96), np.float32)
    run_product(run, a / np.float16(4), b, c)
    same(c, a.astype(np.float32).T @ b.astype(np.float32) / 4)


@case(product_source("product_of_bytes", "int", "{}", "__dp4a({}, {}, {})", "0", "int"))
def product_of_bytes(run):
    a, b = (rng(s).integers(-128, 128, (24, w, 4)).astype(np.int8) for s, w in ((1, 64), (2, 96)))
    c = np.zeros((64, 96), np.int32)
    run_product(run, a.view(np.int32)[..., 0], b.view(np.int32)[..., 0], c)
    same(c, np.einsum("kmi,kni->mn", a.astype(np.int64), b.astype(np.int64)).astype(np.int32))


CHANNELS, FILTERS, SIDE = 5, 16, 14
TAPS = CHANNELS * 9
CONVOLUTION = """
extern "C++" { struct Tap { int offset, bit; }; }
__constant__ Tap table[%d];
__global__ void %s(const float *weights, %s image, float *result) {
  int pixel = blockIdx.x * blockDim.x + threadIdx.x, filter = blockIdx.y;
  if (pixel >= %d) return;
  int y = pixel / %d, x = pixel %% %d, valid = 0;
  for (int r = 0; r < 3; ++r)
    for (int s = 0; s < 3; ++s)
      if ((unsigned)(y + r - 1) < %d && (unsigned)(x + s - 1) < %d) valid |= 1 << (3 * r + s);
  float sum = 0;
  for (int k = 0; k < %d; ++k) {
    int at = valid & table[k].bit ? pixel + table[k].offset : -1;
    float value;
    %s
    sum = __fmaf_rn(weights[filter * %d + k], value, sum);
  }
  result[filter * %d + pixel] = sum;
}
"""


def convolution_source(name, image, load):
    """A 3 x 3 convolution with padding 1."""
    return CONVOLUTION % (TAPS, name, image, SIDE * SIDE, SIDE, SIDE, SIDE, SIDE, TAPS, load, TAPS,
                          SIDE * SIDE)


def convolution(run, give):
    """Run one; `give` turns the image into the kernel's argument."""
    image = integers(CHANNELS, SIDE, SIDE).astype(np.float32)
    weights = integers(FILTERS, TAPS, seed=2).astype(np.float32)
    table = [(c * SIDE * SIDE + (r - 1) * SIDE + s - 1, 1 << (3 * r + s))
             for c in range(CHANNELS) for r in range(3) for s in range(3)]
    run.symbol("table", np.array(table, np.int32))
    result = np.zeros((FILTERS, SIDE, SIDE), np.float32)
    run((2, FILTERS), 128, weights, give(image), result)
    padded = np.pad(image, ((0, 0), (1, 1), (1, 1)))
    columns = np.stack([padded[c, r:r + SIDE, s:s + SIDE].ravel()
                        for c in range(CHANNELS) for r in range(3) for s in range(3)])
    same(result, (weights @ columns).reshape(result.shape))


@case(convolution_source("convolution_by_table", "const float *",
                         "value = at < 0 ? 0.0f : image[at];"))
def convolution_by_table(run):
    convolution(run, lambda image: image)


# A coordinate outside the texture reads zero, which is the padding.
@case(convolution_source("convolution_by_texture", "unsigned long long", """float other[3];
    asm volatile("tex.1d.v4.f32.s32 {%0, %1, %2, %3}, [%4, {%5}];"
                 : "=f"(value), "=f"(other[0]), "=f"(other[1]), "=f"(other[2])
                 : "l"(image), "r"(at));"""))
def convolution_by_texture(run):
    convolution(run, run.texture)


@case("""
__global__ void texels(unsigned long long image, float *result, int count) {
  int i = threadIdx.x;
  if (i >= count) return;
  float *to = result + 4 * i;
  asm volatile("tex.1d.v4.f32.s32 {%0, %1, %2, %3}, [%4, {%5}];"
               : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3]) : "l"(image), "r"(i - 2));
}
""")
def texels(run):
    values = rng().standard_normal((9, 2)).astype(np.float16)
    result = np.full((13, 4), 7, np.float32)
    run(1, 32, run.texture(values), result, np.int32(13))
    want = np.zeros((13, 4), np.float32)
    want[2:11, :2] = values
    same(result, want)
