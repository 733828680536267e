"""Control flow: divergent loops, switches, early exits, device functions."""

import math

import numpy as np
from driver import case, close, rng, same

COUNT = 256


@case("""
__global__ void nested_loops(const int *a, int *out) {
  int i = threadIdx.x, sum = 0;
  for (int j = 0; j < a[i]; ++j)
    for (int k = j; k < i % 7; ++k) {
      if ((j + k) % 3 == 0) continue;
      if (k > 4) break;
      sum += j * k + 1;
    }
  out[i] = sum;
}""")
def nested_loops(run):
    """Loops whose lengths differ among threads, with continue and break."""
    a, out = rng().integers(0, 9, COUNT, dtype=np.int32), np.zeros(COUNT, np.int32)
    run(1, COUNT, a, out)
    want = [sum(j * k + 1 for j in range(a[i]) for k in range(j, min(i % 7, 5))
                if (j + k) % 3) for i in range(COUNT)]
    same(out, want)


@case("""
__global__ void switch_table(const int *a, int *out) {
  int i = threadIdx.x, x = a[i];
  switch (x) {
  case 0: x = i * 3; break;
  case 1: x = i ^ 77; break;
  case 2: x += 5;
  case 3: x *= i; break;
  case 4: x = -i; break;
  case 5: x = i / 3; break;
  case 6: x = i % 5 - 9; break;
  case 7: out[i] = 1234; return;
  case 8: x = i << 3; break;
  default: x = -1;
  }
  out[i] = x;
}""")
def switch_table(run):
    """A dense switch with fall-through and return."""
    a, out = rng().integers(-1, 10, COUNT, dtype=np.int32), np.zeros(COUNT, np.int32)
    run(1, COUNT, a, out)
    cases = {0: lambda i: i * 3, 1: lambda i: i ^ 77, 2: lambda i: 7 * i, 3: lambda i: 3 * i,
             4: lambda i: -i, 5: lambda i: i // 3, 6: lambda i: i % 5 - 9, 7: lambda i: 1234,
             8: lambda i: i << 3}
    same(out, [cases.get(int(x), lambda i: -1)(i) for i, x in enumerate(a)])


@case("""
__global__ void jump_table(const int *a, int *out) {
  int i = threadIdx.x, x = i;
  asm volatile("{\\n"
      "places: .branchtargets first, second, third;\\n"
      "brx.idx %1, places;\\n"
      "first: add.s32 %0, %0, 100; bra.uni end;\\n"
      "second: mul.lo.s32 %0, %0, 3; bra.uni end;\\n"
      "third: neg.s32 %0, %0;\\n"
      "end: }" : "+r"(x) : "r"(a[i]));
  out[i] = x;
}""")
def jump_table(run):
    """brx.idx."""
    a, out = rng().integers(0, 3, COUNT, dtype=np.int32), np.zeros(COUNT, np.int32)
    run(1, COUNT, a, out)
    i = np.arange(COUNT)
    same(out, np.choose(a, [i + 100, i * 3, -i]))


@case("""
__global__ void early_exit(const int *a, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (a[i] & 1) { out[i] = 7; return; }
  __syncthreads();
  if (a[i] & 2) return;
  out[i] = a[i];
}""")
def early_exit(run):
    """Threads leave before and after a barrier."""
    a, out = rng().integers(0, 99, 250, dtype=np.int32), np.full(250, -3, np.int32)
    run(4, 64, a, out, np.int32(250))
    same(out, np.where(a & 1, 7, np.where(a & 2, -3, a)))


@case("""
__global__ void collatz(const unsigned *a, int *out) {
  int i = threadIdx.x, steps = 0;
  unsigned long long x = a[i];
  while (x != 1) { x = x & 1 ? 3 * x + 1 : x / 2; ++steps; }
  out[i] = steps;
}""")
def collatz(run):
    """A loop of unforeseeable length."""
    a, out = rng().integers(1, 100000, COUNT, dtype=np.uint32), np.zeros(COUNT, np.int32)
    run(1, COUNT, a, out)

    def steps(x):
        count = 0
        while x != 1:
            x, count = (3 * x + 1 if x % 2 else x // 2), count + 1
        return count
    same(out, [steps(int(x)) for x in a])


@case("""
__device__ __noinline__ int gcd(int a, int b) {
  while (b) { int r = a % b; a = b; b = r; }
  return a;
}
struct Fraction { int top, bottom; };
__device__ __noinline__ Fraction reduced(Fraction f) {
  int d = gcd(f.top, f.bottom);
  Fraction out = {f.top / d, f.bottom / d};
  return out;
}
__device__ __noinline__ void exchange(int *a, int *b) { int t = *a; *a = *b; *b = t; }
__global__ void device_functions(const int *a, const int *b, int *top, int *bottom) {
  int i = threadIdx.x;
  Fraction f = {a[i], b[i]};
  f = reduced(f);
  if (i & 1) exchange(&f.top, &f.bottom);
  top[i] = f.top;
  bottom[i] = f.bottom;
}""")
def device_functions(run):
    """Calls that take and return structs and pointers to locals."""
    a, b = rng().integers(1, 1000, (2, COUNT), dtype=np.int32)
    top, bottom = np.zeros(COUNT, np.int32), np.zeros(COUNT, np.int32)
    run(1, COUNT, a, b, top, bottom)
    divisor = np.array([math.gcd(int(x), int(y)) for x, y in zip(a, b)])
    odd = np.arange(COUNT) & 1
    same(top, np.where(odd, b // divisor, a // divisor))
    same(bottom, np.where(odd, a // divisor, b // divisor))


@case("""
__global__ void binary_search(const int *sorted, int n, const int *keys, int *out) {
  int key = keys[threadIdx.x], low = 0, high = n;
  while (low < high) {
    int middle = (low + high) / 2;
    if (sorted[middle] < key) low = middle + 1; else high = middle;
  }
  out[threadIdx.x] = low;
}""")
def binary_search(run):
    """Lower bounds in a sorted array."""
    values = np.sort(rng().integers(0, 5000, 1000, dtype=np.int32))
    keys, out = rng(2).integers(-5, 5005, COUNT, dtype=np.int32), np.zeros(COUNT, np.int32)
    run(1, COUNT, values, np.int32(1000), keys, out)
    same(out, np.searchsorted(values, keys))


@case("""
__global__ void mandelbrot(int *out, int width) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  double cr = x * 0.0625 - 2, ci = y * 0.0625 - 1, r = 0, i = 0;
  int n = 0;
  for (; n < 50 && __dadd_rn(__dmul_rn(r, r), __dmul_rn(i, i)) <= 4; ++n) {
    double t = __dadd_rn(__dsub_rn(__dmul_rn(r, r), __dmul_rn(i, i)), cr);
    i = __dadd_rn(__dmul_rn(__dmul_rn(2, r), i), ci);
    r = t;
  }
  out[y * width + x] = n;
}""")
def mandelbrot(run):
    """A 2-D grid of f64 loops that end at different times."""
    out = np.zeros((32, 48), np.int32)
    run((6, 4), (8, 8), out, np.int32(48))
    c = (np.arange(48) * 0.0625 - 2)[None, :], (np.arange(32) * 0.0625 - 1)[:, None]
    r, i, want = np.zeros(out.shape), np.zeros(out.shape), np.zeros(out.shape, np.int32)
    live = np.ones(out.shape, bool)
    for _ in range(50):
        live &= r * r + i * i <= 4
        want += live
        r, i = (np.where(live, r * r - i * i + c[0], r), np.where(live, 2 * r * i + c[1], i))
    same(out, want)


@case("""
__global__ void local_array(const int *a, int *out) {
  int heap[16], n = 16, i = threadIdx.x;
  for (int k = 0; k < n; ++k) heap[k] = a[i * n + k];
  for (int k = 1; k < n; ++k) {
    int x = heap[k], j = k - 1;
    while (j >= 0 && heap[j] > x) { heap[j + 1] = heap[j]; --j; }
    heap[j + 1] = x;
  }
  for (int k = 0; k < n; ++k) out[i * n + k] = heap[k];
}""")
def local_array(run):
    """An insertion sort in local memory."""
    a = rng().integers(-99, 99, (64, 16), dtype=np.int32)
    out = np.zeros_like(a)
    run(1, 64, a, out)
    same(out, np.sort(a, 1))


@case("""
__global__ void short_circuit(const int *a, int *out, int n) {
  int i = threadIdx.x;
  bool edge = i == 0 || i == n - 1 || a[i - 1] > a[i] && a[i + 1] > a[i];
  out[i] = edge ? (a[i] > 50 ? 1 : 2) : !(a[i] & 4) ? 3 : 4;
}""")
def short_circuit(run):
    """Conditions that guard loads; predication."""
    a, out = rng().integers(0, 99, COUNT, dtype=np.int32), np.zeros(COUNT, np.int32)
    run(1, COUNT, a, out, np.int32(COUNT))
    edge = np.ones(COUNT, bool)
    edge[1:-1] = (a[:-2] > a[1:-1]) & (a[2:] > a[1:-1])
    same(out, np.where(edge, np.where(a > 50, 1, 2), np.where(a & 4, 4, 3)))


@case("""
__global__ void lambda_unrolled(int *out, float *means) {
  int i = threadIdx.x;
  auto square = [=](int x) { return x * x + i; };
  int total = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) total += square(k);
  out[i] = total;
  means[i] = total / 4.0f;
}""")
def lambda_unrolled(run):
    """A lambda in an unrolled loop."""
    out, means = np.zeros(64, np.int32), np.zeros(64, np.float32)
    run(1, 64, out, means)
    same(out, 14 + 4 * np.arange(64))
    close(means, out / 4)
