"""Threads that work together: barriers, shuffles, votes, atomics between blocks."""

import numpy as np
from driver import case, close, rng, same

COUNT = 1024


@case("""
__global__ void reduce_shared(const int *a, int *out) {
  __shared__ int part[256];
  int t = threadIdx.x;
  part[t] = a[blockIdx.x * 256 + t];
  for (int step = 128; step; step /= 2) {
    __syncthreads();
    if (t < step) part[t] += part[t + step];
  }
  if (!t) out[blockIdx.x] = part[0];
}""")
def reduce_shared(run):
    """A tree of sums in shared memory."""
    a, out = rng().integers(-99, 99, (4, 256), dtype=np.int32), np.zeros(4, np.int32)
    run(4, 256, a, out)
    same(out, a.sum(1))


@case("""
__global__ void reduce_shuffle(const int *a, int *out) {
  __shared__ int part[8];
  int t = threadIdx.x, x = a[blockIdx.x * 256 + t];
  for (int step = 16; step; step /= 2) x = max(x, __shfl_down_sync(~0u, x, step));
  if (t % 32 == 0) part[t / 32] = x;
  __syncthreads();
  if (t < 8) {
    x = part[t];
    for (int step = 4; step; step /= 2) x = max(x, __shfl_xor_sync(0xff, x, step));
    if (!t) out[blockIdx.x] = x;
  }
}""")
def reduce_shuffle(run):
    """Maxima by shuffles, the second time by part of a warp."""
    a, out = rng().integers(-9999, 9999, (4, 256), dtype=np.int32), np.zeros(4, np.int32)
    run(4, 256, a, out)
    same(out, a.max(1))


@case("""
__device__ int lower(int x, int step) {
  int y;
  asm volatile("shfl.down.b32 %0, %1, %2, 31;" : "=r"(y) : "r"(x), "r"(step));
  return y;
}
__global__ void shuffle_without_sync(const int *a, int *out) {
  int t = threadIdx.x, x = a[t];
  for (int step = 16; step; step /= 2) x += lower(x, step);
  if (t % 32 == 0) out[t / 32] = x;
}""")
def shuffle_without_sync(run):
    """The old form of shfl."""
    a, out = rng().integers(-99, 99, (8, 32), dtype=np.int32), np.zeros(8, np.int32)
    run(1, 256, a, out)
    same(out, a.sum(1))


@case("""
__global__ void shuffle_indexed(const float *a, const int *lane, float *out, float *wide) {
  int t = threadIdx.x;
  out[t] = __shfl_sync(~0u, a[t], lane[t]);
  wide[t] = __shfl_sync(~0u, a[t], 3, 8) + __shfl_up_sync(~0u, a[t], 2, 16);
}""")
def shuffle_indexed(run):
    """Any lane from any lane; segments of 8 and 16."""
    a = rng().integers(0, 99, (2, 32)).astype(np.float32)
    lane = rng(2).integers(0, 32, (2, 32), dtype=np.int32)
    out, wide = np.zeros_like(a), np.zeros_like(a)
    run(1, 64, a, lane, out, wide)
    same(out, np.take_along_axis(a, lane, 1))
    index = np.arange(32)
    up = np.where(index % 16 < 2, index, index - 2)
    same(wide, a[:, index // 8 * 8 + 3] + a[:, up])


@case("""
__global__ void scan_block(const int *a, int *out) {
  __shared__ int sums[2][256];
  int t = threadIdx.x, from = 0;
  sums[0][t] = a[t];
  __syncthreads();
  for (int step = 1; step < 256; step *= 2) {
    sums[1 - from][t] = sums[from][t] + (t >= step ? sums[from][t - step] : 0);
    from = 1 - from;
    __syncthreads();
  }
  out[t] = sums[from][t];
}""")
def scan_block(run):
    """An inclusive scan (Hillis and Steele)."""
    a, out = rng().integers(-99, 99, 256, dtype=np.int32), np.zeros(256, np.int32)
    run(1, 256, a, out)
    same(out, np.cumsum(a))


@case("""
__global__ void scan_exclusive(const int *a, int *out) {
  __shared__ int s[256];
  int t = threadIdx.x;
  s[t] = a[t];
  int step = 1;
  for (int n = 128; n; n /= 2, step *= 2) {
    __syncthreads();
    if (t < n) s[step * (2 * t + 2) - 1] += s[step * (2 * t + 1) - 1];
  }
  if (!t) s[255] = 0;
  for (int n = 1; n < 256; n *= 2) {
    step /= 2;
    __syncthreads();
    if (t < n) {
      int *low = &s[step * (2 * t + 1) - 1], *high = &s[step * (2 * t + 2) - 1], x = *low;
      *low = *high;
      *high += x;
    }
  }
  __syncthreads();
  out[t] = s[t];
}""")
def scan_exclusive(run):
    """An exclusive scan (Blelloch), by pointers to shared memory."""
    a, out = rng().integers(-99, 99, 256, dtype=np.int32), np.zeros(256, np.int32)
    run(1, 256, a, out)
    same(out, np.cumsum(a) - a)


@case("""
__global__ void scan_warp(const int *a, int *out) {
  int t = threadIdx.x, lane = t & 31, x = a[t];
  for (int step = 1; step < 32; step *= 2) {
    int y = __shfl_up_sync(~0u, x, step);
    if (lane >= step) x += y;
  }
  out[t] = x;
}""")
def scan_warp(run):
    """An inclusive scan by shuffles."""
    a = rng().integers(-99, 99, (4, 32), dtype=np.int32)
    out = np.zeros_like(a)
    run(1, 128, a, out)
    same(out, np.cumsum(a, 1))


@case("""
__global__ void ballot_compact(const int *a, int *out, int *count) {
  int t = threadIdx.x;
  unsigned mask = __ballot_sync(~0u, a[t] > 0);
  if (a[t] > 0) out[__popc(mask & ((1u << t) - 1))] = a[t];
  if (t == 0) *count = __popc(mask);
}""")
def ballot_compact(run):
    """The positive numbers, packed by a ballot."""
    a, out = rng().integers(-9, 9, 32, dtype=np.int32), np.zeros(32, np.int32)
    count = np.zeros(1, np.int32)
    run(1, 32, a, out, count)
    positive = a[a > 0]
    same(count, positive.size)
    same(out[:positive.size], positive)


@case("""
__global__ void votes(const int *a, int *out) {
  int t = threadIdx.x, x = a[t];
  int bits = __all_sync(~0u, x > 2) | __any_sync(~0u, x > 7) << 1;
  if (x & 1) bits |= __popc(__activemask()) << 8;
  bits |= (__ballot_sync(~0u, x > 4) & 0xffff) << 16;
  out[t] = bits & ~0xff00;
}""")
def votes(run):
    """all, any, ballot; activemask on a divergent branch."""
    a = np.concatenate([np.full(32, 3), np.full(32, 9),
                        rng().integers(0, 9, 64)]).astype(np.int32).reshape(4, 32)
    out = np.zeros_like(a)
    run(1, 128, a, out)
    ballot = ((a > 4)[:, :16] << np.arange(16)).sum(1) << 16
    want = (a > 2).all(1) | (a > 7).any(1) << 1 | ballot
    same(out.view(np.uint32), np.repeat(want[:, None], 32, 1).astype(np.uint32))


@case("""
__global__ void barrier_reductions(const int *a, int *out) {
  int x = a[blockIdx.x * 128 + threadIdx.x];
  int count = __syncthreads_count(x > 3), all = __syncthreads_and(x > 0);
  int any = __syncthreads_or(x == 9);
  out[blockIdx.x * 128 + threadIdx.x] = count * 4 + (all ? 2 : 0) + (any ? 1 : 0);
}""")
def barrier_reductions(run):
    """bar.red in its three kinds."""
    a = rng().integers(1, 9, (4, 128), dtype=np.int32)
    a[1, 7], a[2, 100] = 0, 9
    out = np.zeros_like(a)
    run(4, 128, a, out)
    want = (a > 3).sum(1) * 4 + (a > 0).all(1) * 2 + (a == 9).any(1)
    same(out, np.repeat(want[:, None], 128, 1))


@case("""
__device__ unsigned arrived;
__global__ void last_block_sum(const float *a, volatile float *part, float *out) {
  __shared__ float s[128];
  __shared__ bool last;
  int t = threadIdx.x;
  s[t] = a[blockIdx.x * 128 + t];
  __syncthreads();
  for (int k = 64; k; k /= 2) { if (t < k) s[t] += s[t + k]; __syncthreads(); }
  if (!t) {
    part[blockIdx.x] = s[0];
    __threadfence();
    last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && !t) {
    float sum = 0;
    for (int k = 0; k < gridDim.x; ++k) sum += part[k];
    *out = sum;
  }
}""")
def last_block_sum(run):
    """The block that comes last adds up what the others left."""
    a = rng().integers(0, 99, (16, 128)).astype(np.float32)
    out, part = np.zeros(1, np.float32), np.zeros(16, np.float32)
    for _ in range(2):
        run(16, 128, a, part, out)
        same(out, a.sum())
        out[:] = 0


@case("""
__global__ void bitonic_sort(int *a) {
  __shared__ int s[512];
  int t = threadIdx.x;
  s[t] = a[t];
  s[t + 256] = a[t + 256];
  for (int size = 2; size <= 512; size *= 2)
    for (int step = size / 2; step; step /= 2) {
      __syncthreads();
      int low = 2 * t - (t & (step - 1)), high = low + step;
      bool down = low & size;
      if (s[low] > s[high] != down) { int x = s[low]; s[low] = s[high]; s[high] = x; }
    }
  __syncthreads();
  a[t] = s[t];
  a[t + 256] = s[t + 256];
}""")
def bitonic_sort(run):
    """512 numbers in shared memory."""
    a = rng().integers(-9999, 9999, 512, dtype=np.int32)
    want = np.sort(a)
    run(1, 256, a)
    same(a, want)


@case("""
__global__ void histogram(const unsigned char *a, int n, unsigned *out) {
  __shared__ unsigned bins[64];
  if (threadIdx.x < 64) bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&bins[a[i] & 63], 1u);
  __syncthreads();
  if (threadIdx.x < 64) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}""")
def histogram(run):
    """Bins in shared memory, added up in global memory."""
    a, out = rng().integers(0, 256, 10007, dtype=np.uint8), np.zeros(64, np.uint32)
    run(5, 96, a, np.int32(a.size), out)
    same(out, np.bincount(a & 63, minlength=64))


@case("""
__global__ void atomics_global(const int *a, int *out, unsigned *bits) {
  int x = a[blockIdx.x * blockDim.x + threadIdx.x];
  atomicAdd(&out[0], x);
  atomicMin(&out[1], x);
  atomicMax(&out[2], x);
  atomicSub(&out[3], x);
  atomicAnd(&bits[0], (unsigned)x | 0xff00u);
  atomicOr(&bits[1], (unsigned)x & 0xfffu);
  atomicXor(&bits[2], (unsigned)x);
  atomicMax(&bits[3], (unsigned)x);
}""")
def atomics_global(run):
    """Eight kinds without their old value."""
    a = rng().integers(-9999, 9999, COUNT, dtype=np.int32)
    out, bits = np.zeros(4, np.int32), np.array([~0 & 0xFFFFFFFF, 0, 0, 0], np.uint32)
    run(8, 128, a, out, bits)
    same(out, [a.sum(), min(a.min(), 0), max(a.max(), 0), -a.sum()])
    unsigned = a.view(np.uint32)
    same(bits, [np.bitwise_and.reduce(unsigned | 0xFF00), np.bitwise_or.reduce(unsigned & 0xFFF),
                np.bitwise_xor.reduce(unsigned), unsigned.max()])


@case("""
__global__ void atomics_returning(int *counter, int *tickets, unsigned *wrap, int *swapped,
                                  unsigned long long *wide) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tickets[atomicAdd(counter, 1)] = i;
  atomicInc(&wrap[0], 9);
  atomicDec(&wrap[1], 6);
  swapped[i] = atomicExch(&counter[1], i);
  atomicAdd(&wide[0], 1ull << 33);
  atomicMax(&wide[1], (unsigned long long)i << 40);
}""")
def atomics_returning(run):
    """Tickets, inc and dec that wrap, exchange, 64 bits."""
    counter, tickets = np.array([0, -1], np.int32), np.zeros(COUNT, np.int32)
    wrap, swapped = np.array([0, 3], np.uint32), np.zeros(COUNT, np.int32)
    wide = np.zeros(2, np.uint64)
    run(8, 128, counter, tickets, wrap, swapped, wide)
    same(np.sort(tickets), np.arange(COUNT))
    same(np.sort(np.append(swapped, counter[1])), np.arange(-1, COUNT))
    down = 3
    for _ in range(COUNT):
        down = 6 if down == 0 or down > 6 else down - 1
    same(wrap, [COUNT % 10, down])
    same(wide, [COUNT << 33, (COUNT - 1) << 40])


@case("""
__device__ double addByCas(double *place, double x) {
  unsigned long long *bits = (unsigned long long *)place, old = *bits, seen;
  do {
    seen = old;
    old = atomicCAS(bits, seen, __double_as_longlong(x + __longlong_as_double(seen)));
  } while (seen != old);
  return __longlong_as_double(old);
}
__global__ void atomics_floating(const float *a, float *sum, double *wide, double *byCas) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(sum, a[i]);
  atomicAdd(wide, (double)a[i]);
  addByCas(byCas, a[i]);
}""")
def atomics_floating(run):
    """f32 and f64 sums; a loop of compare and swap."""
    a = rng().integers(-99, 99, COUNT).astype(np.float32)
    total, wide, by_cas = np.zeros(1, np.float32), np.zeros(1), np.zeros(1)
    run(8, 128, a, total, wide, by_cas)
    for got in (total, wide, by_cas):
        same(got, a.sum())


@case("""
__global__ void spin_lock(int *lock, int *value) {
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    *(volatile int *)value = *(volatile int *)value + (int)blockIdx.x;
    __threadfence();
    atomicExch(lock, 0);
  }
}""")
def spin_lock(run):
    """A lock that blocks take in turn."""
    lock, value = np.zeros(1, np.int32), np.zeros(1, np.int32)
    run(64, 32, lock, value)
    same([lock[0], value[0]], [0, 64 * 63 // 2])


@case("""
__global__ void named_barriers(int *out) {
  __shared__ int s[64];
  int t = threadIdx.x;
  if (t < 64) {
    s[t] = t * 3;
    asm volatile("bar.arrive 1, 128;" ::: "memory");
  } else {
    asm volatile("bar.sync 1, 128;" ::: "memory");
    out[t - 64] = s[127 - t];
  }
}""")
def named_barriers(run):
    """Producers arrive, consumers wait."""
    out = np.zeros(64, np.int32)
    run(1, 128, out)
    same(out, 3 * (63 - np.arange(64)))


@case("""
__global__ void warp_halves(const float *a, float *out) {
  int t = threadIdx.x;
  float x = a[t], sum = 0;
  if (t % 2) {
    for (int k = 1; k < 32; k += 2) sum += __shfl_sync(0xaaaaaaaau, x, k);
  } else {
    for (int k = 0; k < 32; k += 2) sum -= __shfl_sync(0x55555555u, x, k);
  }
  __syncwarp();
  out[t] = sum;
}""")
def warp_halves(run):
    """Halves of a warp shuffle on different branches."""
    a, out = rng().integers(0, 99, 32).astype(np.float32), np.zeros(32, np.float32)
    run(1, 32, a, out)
    close(out, np.tile([-a[::2].sum(), a[1::2].sum()], 16))


@case("""
__global__ void shuffle_widths(int *out) {
  int t = threadIdx.x;
  out[t] = __shfl_down_sync(0xffffffff, t, 2, 8);
  out[32 + t] = __shfl_up_sync(0xffffffff, t, 3, 4);
  out[64 + t] = __shfl_xor_sync(0xffffffff, t, 4, 16);
  out[96 + t] = __shfl_sync(0xffffffff, t, 9, 8);
}
""")
def shuffle_widths(run):
    out, t = np.zeros((4, 32), np.int32), np.arange(32)
    run(1, 32, out)
    same(out[0], np.where(t % 8 + 2 < 8, t + 2, t))
    same(out[1], np.where(t % 4 >= 3, t - 3, t))
    same(out[2], t ^ 4)
    same(out[3], t // 8 * 8 + 1)


@case("""
__global__ void atomics_of_64_bits(unsigned long long *o, double *d, unsigned long long *old) {
  unsigned long long t = threadIdx.x;
  atomicAdd(o, 0x100000003ull);
  atomicMax(o + 1, t << 33);
  atomicMin((long long *)o + 2, -(long long)(t << 33));
  atomicXor(o + 3, 1ull << t);
  old[t] = atomicExch(o + 4, t + 1);
  atomicAdd(d, 0.5);
  unsigned long long seen = o[5], was;  // a multiplication as a loop of atomicCAS
  do {
    was = seen;
    seen = atomicCAS(o + 5, was, was * 3);
  } while (seen != was);
}
""")
def atomics_of_64_bits(run):
    words, total, old = np.zeros(6, np.uint64), np.zeros(1), np.zeros(40, np.uint64)
    words[5] = 1
    run(1, 40, words, total, old)
    same(words[:4], np.array([40 * 0x100000003, 39 << 33, 2 ** 64 - (39 << 33), 2 ** 40 - 1],
                             np.uint64))
    same(words[5], np.uint64(3 ** 40 % 2 ** 64))
    same(total, [20.0])
    same(np.sort(np.append(old, words[4])), np.arange(41, dtype=np.uint64))
