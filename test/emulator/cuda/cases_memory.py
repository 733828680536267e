"""Memory: spaces, widths, layouts, grids of two and three dimensions."""

import numpy as np
from driver import case, close, rng, same


def floats(*shape, seed=1):
    """Whole numbers as f32, so that sums are exact in any order."""
    return rng(seed).integers(-99, 99, shape).astype(np.float32)


@case("""
__global__ void transpose(const float *a, float *out, int rows, int columns) {
  __shared__ float tile[16][17];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x < columns && y < rows) tile[threadIdx.y][threadIdx.x] = a[y * columns + x];
  __syncthreads();
  x = blockIdx.y * 16 + threadIdx.x;
  y = blockIdx.x * 16 + threadIdx.y;
  if (x < rows && y < columns) out[y * rows + x] = tile[threadIdx.x][threadIdx.y];
}""")
def transpose(run):
    """By padded tiles, with edges."""
    a, out = floats(50, 37), np.zeros((37, 50), np.float32)
    run((3, 4), (16, 16), a, out, np.int32(50), np.int32(37))
    same(out, a.T)


@case("""
__global__ void stencil(const float *a, float *out, int n) {
  __shared__ float s[10][10];
  int x = blockIdx.x * 8 + threadIdx.x - 1, y = blockIdx.y * 8 + threadIdx.y - 1;
  bool inside = x >= 0 && y >= 0 && x < n && y < n;
  s[threadIdx.y][threadIdx.x] = inside ? a[y * n + x] : 0;
  __syncthreads();
  int i = threadIdx.x, j = threadIdx.y;
  if (!inside || i == 0 || j == 0 || i == 9 || j == 9) return;
  out[y * n + x] = 4 * s[j][i] - s[j - 1][i] - s[j + 1][i] - s[j][i - 1] - s[j][i + 1];
}""")
def stencil(run):
    """Five points, with halos in shared memory."""
    a = floats(30, 30)
    out = np.zeros_like(a)
    run((4, 4), (10, 10), a, out, np.int32(30))
    p = np.pad(a, 1)
    same(out, 4 * a - p[:-2, 1:-1] - p[2:, 1:-1] - p[1:-1, :-2] - p[1:-1, 2:])


@case("""
__global__ void grid_3d(int *out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  int width = gridDim.x * blockDim.x, height = gridDim.y * blockDim.y;
  out[(z * height + y) * width + x] = x + 100 * y + 10000 * z;
}""")
def grid_3d(run):
    """A grid and blocks of three dimensions."""
    out = np.zeros((6, 8, 10), np.int32)
    run((5, 2, 3), (2, 4, 2), out)
    z, y, x = np.indices(out.shape)
    same(out, x + 100 * y + 10000 * z)


@case("""
__global__ void vector_loads(const float4 *a, const int2 *b, const double2 *c, float4 *out,
                             int2 *swapped, double2 *wide) {
  int i = threadIdx.x;
  float4 v = a[i];
  out[i] = make_float4(v.w, v.z, v.y + 1, v.x);
  swapped[i] = make_int2(b[i].y, b[i].x);
  wide[i] = make_double2(c[i].y, c[i].x);
}""")
def vector_loads(run):
    """Loads and stores of 8 and 16 bytes."""
    a, b = floats(64, 4), rng().integers(-9, 9, (64, 2), dtype=np.int32)
    c = rng().random((64, 2))
    out, swapped, wide = np.zeros_like(a), np.zeros_like(b), np.zeros_like(c)
    run(1, 64, a, b, c, out, swapped, wide)
    same(out, a[:, ::-1] + np.array([0, 0, 1, 0], np.float32))
    same(swapped, b[:, ::-1])
    same(wide, c[:, ::-1])


@case("""
struct Job { float scale; short bias; unsigned char mask[5]; double offset; int table[4]; };
__global__ void struct_by_value(Job job, const float *a, float *out) {
  int i = threadIdx.x;
  out[i] = a[i] * job.scale + job.bias + job.mask[i % 5] + job.offset + job.table[i & 3];
}""")
def struct_by_value(run):
    """A parameter with padding, indexed dynamically."""
    job = np.zeros((), np.dtype([("scale", "f4"), ("bias", "i2"), ("mask", "u1", 5),
                                 ("offset", "f8"), ("table", "i4", 4)], align=True))
    job["scale"], job["bias"], job["offset"] = 2, -7, 16
    job["mask"], job["table"] = [1, 2, 3, 200, 255], [5, -6, 7, 8]
    a, out = floats(60), np.zeros(60, np.float32)
    run(1, 60, job[()], a, out)
    i = np.arange(60)
    same(out, a * 2 - 7 + job["mask"][i % 5] + 16 + job["table"][i & 3])


@case("""
__constant__ float weights[8];
__constant__ int fixed[4] = {3, 1, 4, 1};
__device__ int table[3] = {10, 20, 30};
__global__ void constant_memory(const float *a, float *out) {
  int i = threadIdx.x;
  out[i] = a[i] * weights[i & 7] + fixed[i & 3] + table[i % 3];
}""")
def constant_memory(run):
    """Constants set by the host, and initial values."""
    weights, a, out = floats(8, seed=2), floats(64), np.zeros(64, np.float32)
    run.symbol("weights", weights)
    run(1, 64, a, out)
    i = np.arange(64)
    same(out, a * weights[i & 7] + np.array([3, 1, 4, 1])[i & 3] + 10 * (i % 3 + 1))


@case("""
extern __shared__ float pool[];
__global__ void dynamic_shared(const float *a, float *out, int n) {
  float *second = pool + n;
  int t = threadIdx.x;
  pool[t] = a[t];
  second[n - 1 - t] = a[t] * 2;
  __syncthreads();
  out[t] = pool[n - 1 - t] + second[t];
}""")
def dynamic_shared(run):
    """Shared memory whose size the launch gives."""
    a, out = floats(100), np.zeros(100, np.float32)
    run(1, 100, a, out, np.int32(100), shared=800)
    same(out, 3 * a[::-1])


@case("""
__device__ int state = 5;
__global__ void several_kernels(int *a) { a[threadIdx.x] += state; }
__global__ void change() { state = state * 2 + 1; }
""")
def several_kernels(run):
    """Two kernels that share a variable of their module."""
    a = np.zeros(32, np.int32)
    run(1, 32, a)
    run(1, 1, entry="change")
    run(1, 32, a)
    same(a, 16)


@case("""
__global__ void narrow_types(const signed char *a, const unsigned short *b, const short *c,
                             short *out, unsigned char *bytes, bool *flags) {
  int i = threadIdx.x;
  out[i] = a[i] * 3 - c[i];
  bytes[i] = b[i] >> 3;
  flags[i] = a[i] > c[i] % 100;
}""")
def narrow_types(run):
    """Loads and stores of 1 and 2 bytes, with and without sign."""
    a, b, c = (rng(s).integers(np.iinfo(t).min, np.iinfo(t).max, 128, dtype=t)
               for s, t in enumerate((np.int8, np.uint16, np.int16)))
    out, data, flags = np.zeros(128, np.int16), np.zeros(128, np.uint8), np.zeros(128, bool)
    run(1, 128, a, b, c, out, data, flags)
    same(out, (a.astype(int) * 3 - c).astype(np.int16))
    same(data, (b >> 3).astype(np.uint8))
    same(flags, a > np.fmod(c, 100))


@case("""
__device__ __noinline__ int total(const int *p, int n) {
  int sum = 0;
  for (int k = 0; k < n; ++k) sum += p[k];
  return sum;
}
__global__ void generic_pointers(const int *a, int *out) {
  __shared__ int s[32];
  int own[4], t = threadIdx.x;
  s[t] = a[t];
  for (int k = 0; k < 4; ++k) own[k] = a[(t + k) % 32] * 2;
  __syncthreads();
  const int *p = t % 3 == 0 ? a : t % 3 == 1 ? s : own;
  out[t] = total(p, 4) + (__isShared(p) ? 1000 : 0) + (__isGlobal(p) ? 2000 : 0);
}""")
def generic_pointers(run):
    """One load that reaches global, shared or local memory."""
    a, out = rng().integers(0, 9, 32, dtype=np.int32), np.zeros(32, np.int32)
    run(1, 32, a, out)
    t = np.arange(32)
    own = 2 * sum(a[(t + k) % 32] for k in range(4))
    same(out, np.choose(t % 3, [a[:4].sum() + 2000, a[:4].sum() + 1000, own]))


@case("""
__global__ void grid_stride(const float *x, float *y, float a, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
    y[i] = a * x[i] + y[i];
}""")
def grid_stride(run):
    """saxpy with fewer threads than elements."""
    x, y = floats(5000), floats(5000, seed=2)
    want = 3 * x + y
    run(4, 96, x, y, np.float32(3), np.int32(5000))
    same(y, want)


@case("""
__global__ void gather_read_only(const float *__restrict__ a, const int *__restrict__ index,
                                 float *out) {
  int i = threadIdx.x;
  out[i] = __ldg(&a[index[i]]) + __ldg(&a[i]);
}""")
def gather_read_only(run):
    """ld.global.nc."""
    a, index = floats(128), rng().permutation(128).astype(np.int32)
    out = np.zeros(128, np.float32)
    run(1, 128, a, index, out)
    same(out, a[index] + a)


@case("""
__global__ void im2col(const float *a, float *out, int height, int width, int kernel) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int rows = height - kernel + 1, columns = width - kernel + 1;
  if (i >= rows * columns * kernel * kernel) return;
  int c = i % columns, r = i / columns % rows, k = i / (columns * rows);
  out[i] = a[(r + k / kernel) * width + c + k % kernel];
}""")
def im2col(run):
    """Indices by division by run-time numbers."""
    a, out = floats(12, 17), np.zeros((9, 10, 15), np.float32)
    run(11, 128, a, out, np.int32(12), np.int32(17), np.int32(3))
    windows = np.lib.stride_tricks.sliding_window_view(a, (3, 3))
    same(out, windows.transpose(2, 3, 0, 1).reshape(9, 10, 15))


@case("""
__global__ void conv2d(const float *a, const float *w, float *out, int n, int kernel) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  int size = n - kernel + 1, c = blockIdx.z;
  if (x >= size || y >= size) return;
  float sum = 0;
  for (int i = 0; i < kernel; ++i)
    for (int j = 0; j < kernel; ++j)
      sum += a[(y + i) * n + x + j] * w[(c * kernel + i) * kernel + j];
  out[(c * size + y) * size + x] = sum;
}""")
def conv2d(run):
    """A convolution with a channel for each z."""
    a, w, out = floats(20, 20), floats(3, 5, 5, seed=2), np.zeros((3, 16, 16), np.float32)
    run((2, 2, 3), (8, 8), a, w, out, np.int32(20), np.int32(5))
    windows = np.lib.stride_tricks.sliding_window_view(a, (5, 5))
    close(out, np.einsum("yxij,cij->cyx", windows, w), atol=0.1)
