// Features of CUDA C++ that become unusual PTX, for running: test_compiled_features.py compares the results.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/std/complex>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cassert>
#include <cstdio>

namespace cg = cooperative_groups;
#define KERNEL extern "C" __global__ void

KERNEL doubles(const double* x, double* out) {
    double v = x[threadIdx.x];
    out += 16 * threadIdx.x;
    out[0] = sin(v), out[1] = cos(v), out[2] = exp(v / 10), out[3] = log(fabs(v) + 1), out[4] = pow(fabs(v), 1.3);
    out[5] = tan(v), out[6] = atan2(v, 2.0), out[7] = sqrt(fabs(v)), out[8] = erf(v / 5), out[9] = cbrt(v);
    out[10] = fmod(v, 3.0), out[11] = sinh(v / 10), out[12] = tgamma(fabs(v) / 4 + 1), out[13] = rint(v);
    out[14] = hypot(v, 4.0), out[15] = ldexp(v, 5);
}

KERNEL floats(const float* x, float* out) {
    float v = x[threadIdx.x];
    out += 16 * threadIdx.x;
    out[0] = sinf(v), out[1] = cosf(v), out[2] = expf(v / 10), out[3] = logf(fabsf(v) + 1), out[4] = powf(fabsf(v), 1.3f);
    out[5] = tanhf(v / 10), out[6] = atanf(v), out[7] = rsqrtf(fabsf(v) + 1), out[8] = v / 3, out[9] = floorf(v);
    out[10] = fmodf(v, 3), out[11] = __expf(v / 10), out[12] = __fdividef(v, 7), out[13] = roundf(v);
    out[14] = fmaf(v, v, 1), out[15] = truncf(v) + ceilf(v);
}

template <class T, int N> struct Array {
    T d[N];
};

template <class T, int N> __device__ __noinline__ Array<T, N> rotated(Array<T, N> a, int by) {
    Array<T, N> result;
    for (int i = 0; i < N; i++) result.d[(i + by) % N] = a.d[i];
    return result;
}

KERNEL by_value(Array<int, 6> a, Array<short, 5> b, float3 v, int* ints, short* shorts, float* sums) {
    int t = threadIdx.x;
    auto c = rotated(a, t);
    auto d = rotated(b, t);
    for (int i = 0; i < 6; i++) ints[t * 6 + i] = c.d[i];
    for (int i = 0; i < 5; i++) shorts[t * 5 + i] = d.d[i];
    sums[t] = v.x * v.y + v.z;
}

__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

KERNEL recursion(unsigned* out) { out[threadIdx.x] = ackermann(threadIdx.x & 3, threadIdx.x >> 2); }

__device__ int sum(int a, int b) { return a + b; }
__device__ int product(int a, int b) { return a * b; }
__device__ int difference(int a, int b) { return a - b; }
__device__ int (*operations[3])(int, int) = {sum, product, difference};

KERNEL pointers(int* out) { out[threadIdx.x] = operations[threadIdx.x % 3](threadIdx.x, 7); }

struct Shape {
    __device__ virtual float area() const = 0;
    __device__ virtual ~Shape() {}
};
struct Square : Shape {
    float side;
    __device__ explicit Square(float s) : side(s) {}
    __device__ float area() const override { return side * side; }
};
struct Hexagon : Shape {
    float side;
    __device__ explicit Hexagon(float s) : side(s) {}
    __device__ float area() const override { return 3 * side * side; }
};

KERNEL virtuals(float* out) {
    Shape* shape = threadIdx.x & 1 ? static_cast<Shape*>(new Square(threadIdx.x)) : new Hexagon(threadIdx.x);
    out[threadIdx.x] = shape->area();
    delete shape;
}

KERNEL prints(int n) {
    unsigned t = threadIdx.x;
    if (t < n) printf("%d of %u: %5.2f %s %c %llx %%\n", t, blockDim.x, t / 4.0, t & 1 ? "odd" : "even", 'a' + t, 1ull << 40 | t);
}

KERNEL asserts(int n) { assert(threadIdx.x < n); }

KERNEL halves(const __half2* a, const __half2* b, __half2* out, __half* sums) {
    int t = threadIdx.x;
    out[t] = __hfma2(a[t], b[t], __float2half2_rn(0.5f));
    sums[t] = __hadd(__low2half(a[t]), __high2half(b[t]));
    if (__hgt(__low2half(a[t]), __low2half(b[t]))) out[t] = __hmax2(a[t], __lowhigh2highlow(b[t]));
}

KERNEL bfloats(const float* a, float* out) {
    out[threadIdx.x] = __bfloat162float(__float2bfloat16(a[threadIdx.x]) + __float2bfloat16(1.0f));
}

KERNEL intrinsics(const unsigned* a, unsigned* out) {
    unsigned v = a[threadIdx.x], w = a[(threadIdx.x + 1) % blockDim.x];
    out += 12 * threadIdx.x;
    out[0] = __popc(v), out[1] = __clz(v), out[2] = __brev(v), out[3] = __ffs(v), out[4] = __umulhi(v, w);
    out[5] = __byte_perm(v, w, 0x5410), out[6] = __funnelshift_l(v, w, v & 31), out[7] = __dp4a((int)v, (int)w, 5);
    out[8] = __vadd4(v, w), out[9] = __vabsdiffu4(v, w), out[10] = __vmaxs2(v, w), out[11] = __usad(v, w, 3);
}

KERNEL warps(const int* a, int* out) {
    int all = a[threadIdx.x], before = all, lane = threadIdx.x & 31;
    for (int d = 16; d; d >>= 1) all += __shfl_xor_sync(~0u, all, d);
    for (int d = 1; d < 32; d <<= 1) {
        int other = __shfl_up_sync(~0u, before, d);
        if (lane >= d) before += other;
    }
    out += 4 * threadIdx.x;
    out[0] = all, out[1] = before;
    out[2] = __ballot_sync(~0u, a[threadIdx.x] > 0), out[3] = __match_any_sync(~0u, a[threadIdx.x] & 3);
}

KERNEL groups(const int* a, int* out) {
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    out[2 * threadIdx.x] = cg::reduce(tile, a[threadIdx.x], cg::plus<int>());
    out[2 * threadIdx.x + 1] = cg::inclusive_scan(tile, a[threadIdx.x]);
}

KERNEL atomics(const int* a, int n, int* i, unsigned long long* l, float* f, double* d) {
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += gridDim.x * blockDim.x) {
        atomicAdd(i, a[k]), atomicMax(i + 1, a[k]), atomicMin(i + 2, a[k]), atomicXor(i + 3, a[k]);
        atomicInc(reinterpret_cast<unsigned*>(i) + 4, 6);
        atomicAdd(l, static_cast<unsigned long long>(a[k]) * a[k]), atomicAdd(f, a[k]), atomicAdd(d, a[k] * 0.5);
        int old = i[5], seen;
        do {
            seen = old;
            old = atomicCAS(i + 5, seen, seen + (a[k] & 7));
        } while (old != seen);
    }
}

__constant__ int table[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};

KERNEL memories(const int* a, int* out) {
    __shared__ int s[64];
    extern __shared__ short d[];
    int local[16], t = threadIdx.x;
    for (int i = 0; i < 16; i++) local[(a[t] + i) & 15] = table[i] * i;
    s[t ^ 1] = a[t];
    d[blockDim.x - 1 - t] = a[t] * 2;
    __syncthreads();
    int odd = __syncthreads_count(a[t] & 1) + 1000 * __syncthreads_or(a[t] == 77777);
    out[t] = s[t] + d[t] + local[t & 15] + odd;
}

KERNEL lock(int* taken, int* value) {
    for (bool done = false; !done;) {
        if (atomicCAS(taken, 0, 1) == 0) {
            *static_cast<volatile int*>(value) += 1;
            __threadfence();
            atomicExch(taken, 0);
            done = true;
        }
    }
}

KERNEL cases(const int* a, int* out) {
    int v = a[threadIdx.x];
    switch (v & 15) {
    case 0: v += 3; break;
    case 1: v *= 5;
    case 2: v -= 9; break;
    case 3: v = ~v; break;
    case 4: v ^= 0x55; break;
    case 5: v <<= 2; break;
    case 6: v >>= 1; break;
    case 9: v = -v; break;
    default: v = v / 3 + v % 7;
    }
    out[threadIdx.x] = v;
}

KERNEL standard_atomics(int* out) {
    using Block = cuda::atomic<int, cuda::thread_scope_block>;
    cuda::atomic_ref<int, cuda::thread_scope_device>(out[0]).fetch_add(threadIdx.x, cuda::memory_order_relaxed);
    cuda::atomic_ref<int, cuda::thread_scope_block>(out[1]).fetch_max(threadIdx.x * 3);
    __shared__ Block flag;
    if (threadIdx.x == 0) flag.store(0);
    __syncthreads();
    if (threadIdx.x == 5) flag.store(42, cuda::memory_order_release);
    while (flag.load(cuda::memory_order_acquire) != 42) {}
    cuda::atomic_ref<int, cuda::thread_scope_device>(out[2]).fetch_sub(flag.load());
}

KERNEL barriers(const int* a, int* out) {
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    __shared__ int s[64];
    if (threadIdx.x == 0) init(&barrier, blockDim.x);
    __syncthreads();
    for (int round = 0; round < 3; round++) {
        s[threadIdx.x] = a[threadIdx.x] + round;
        barrier.arrive_and_wait();
        out[threadIdx.x] += s[(threadIdx.x + 1) % blockDim.x];
        barrier.wait(barrier.arrive());
    }
}

KERNEL complexes(const float* a, cuda::std::complex<float>* out) {
    cuda::std::complex<float> z(a[threadIdx.x], 1);
    out[threadIdx.x] = z * z + z;
}
