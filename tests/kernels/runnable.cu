// Kernels whose results are easily said otherwise: they are run, and compared (tests/ptxcore/machine/run/test_compiled_kernels.py).

extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

template <class T>
__device__ void sum_block(const T* in, T* out, int n) {
    __shared__ T partial[256];
    T sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = partial[0];
}
extern "C" __global__ void sum_doubles(const double* in, double* out, int n) { sum_block(in, out, n); }
extern "C" __global__ void sum_longs(const long long* in, long long* out, int n) { sum_block(in, out, n); }

extern "C" __global__ void counts(const unsigned char* text, int n, unsigned* bins) {
    __shared__ unsigned mine[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) mine[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(mine + text[i], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(bins + i, mine[i]);
}

extern "C" __global__ void warp_maximum(const int* in, int* out) {
    int x = in[blockIdx.x * blockDim.x + threadIdx.x];
    for (int distance = 16; distance; distance /= 2) x = max(x, __shfl_down_sync(~0u, x, distance));
    if (threadIdx.x % 32 == 0) atomicMax(out, x);
}

extern "C" __global__ void transpose(const float* in, float* out, int width, int height) {
    __shared__ float tile[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < width && y < height) tile[threadIdx.y][threadIdx.x] = in[y * width + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x, y = blockIdx.x * 16 + threadIdx.y;
    if (x < height && y < width) out[y * height + x] = tile[threadIdx.x][threadIdx.y];
}

extern "C" __global__ void product(const float* a, const float* b, float* c, int n) {
    __shared__ float left[8][8], right[8][8];
    int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k += 8) {
        left[threadIdx.y][threadIdx.x] = a[y * n + k + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + x];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 8; i++) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    c[y * n + x] = sum;
}

struct Pair { char tag; double value; short rest[3]; };
__device__ __noinline__ Pair swapped(Pair p, int by) {
    Pair q = p;
    q.value = p.value * by;
    for (int i = 0; i < 3; i++) q.rest[i] = p.rest[(i + by) % 3];
    return q;
}
extern "C" __global__ void structures(Pair given, Pair* out) { out[threadIdx.x] = swapped(given, threadIdx.x); }

__device__ __noinline__ unsigned collatz(unsigned long long n) { return n == 1 ? 0 : 1 + collatz(n % 2 ? 3 * n + 1 : n / 2); }
extern "C" __global__ void recursion(unsigned* out) { out[threadIdx.x] = collatz(threadIdx.x + 1); }

extern "C" __global__ void sorted_locally(const int* in, int* out, int n) {
    int items[32];
    for (int i = 0; i < n; i++) items[i] = in[threadIdx.x * n + i];
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && items[j - 1] > items[j]; j--) { int t = items[j]; items[j] = items[j - 1]; items[j - 1] = t; }
    for (int i = 0; i < n; i++) out[threadIdx.x * n + i] = items[i];
}

extern "C" __global__ void divisions(const long long* a, const long long* b, long long* out) {
    int i = threadIdx.x;
    out[4 * i] = a[i] / b[i];
    out[4 * i + 1] = a[i] % b[i];
    out[4 * i + 2] = __mul64hi(a[i], b[i]);
    out[4 * i + 3] = (int)a[i] / (int)b[i] + ((unsigned)a[i] % (unsigned)b[i]) + __brev((unsigned)a[i]) + __popcll(a[i]);
}

#if __CUDA_ARCH__ >= 900
extern "C" __global__ void __cluster_dims__(4, 1, 1) ring(const int* in, int* out) {
    __shared__ int mine[64];
    unsigned rank, next, theirs;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    mine[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
    next = (rank + 1) % 4;
    unsigned here = (unsigned)__cvta_generic_to_shared(mine + 63 - threadIdx.x);
    int value;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(theirs) : "r"(here), "r"(next));
    asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(value) : "r"(theirs) : "memory");
    out[blockIdx.x * 64 + threadIdx.x] = value;
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}
#endif
