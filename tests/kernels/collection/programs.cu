// Small programs of many kinds, to be run on what a compiler makes of them.
#include <cstdio>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define KERNEL extern "C" __global__ void

// Classes with virtual functions, made and deleted on the heap.
struct Shape {
    __device__ virtual float area() const = 0;
    __device__ virtual ~Shape() {}
};
struct Square : Shape {
    float side;
    __device__ Square(float s) : side(s) {}
    __device__ float area() const override { return side * side; }
};
struct Rectangle : Shape {
    float a, b;
    __device__ Rectangle(float a, float b) : a(a), b(b) {}
    __device__ float area() const override { return a * b; }
};
KERNEL shapes(const float* x, float* out) {
    int i = threadIdx.x;
    Shape* shape;
    if (i % 2) shape = new Square(x[i]);
    else shape = new Rectangle(x[i], 3);
    out[i] = shape->area();
    delete shape;
}

// Edit distance with two rows in local memory.
KERNEL levenshtein(const char* words, int* out) {
    const char* a = words + 32 * threadIdx.x;
    const char* b = a + 16;
    unsigned char row[17];
    int n = 0;
    while (b[n]) row[n] = n, n++;
    row[n] = n;
    for (int i = 0; a[i]; i++) {
        unsigned char diagonal = row[0];
        row[0] = i + 1;
        for (int j = 0; j < n; j++) {
            unsigned char above = row[j + 1];
            row[j + 1] = min(min(above, row[j]) + 1, diagonal + (a[i] != b[j]));
            diagonal = above;
        }
    }
    out[threadIdx.x] = row[n];
}

// Queens: solutions below each choice of the first column, by backtracking on bit masks.
__device__ __noinline__ int place(unsigned columns, unsigned left, unsigned right, unsigned all) {
    if (columns == all) return 1;
    int found = 0;
    for (unsigned free = all & ~(columns | left | right); free; free &= free - 1) {
        unsigned bit = free & -free;
        found += place(columns | bit, (left | bit) << 1, (right | bit) >> 1, all);
    }
    return found;
}
KERNEL queens(int n, int* total) {
    unsigned bit = 1u << threadIdx.x;
    if (threadIdx.x < n) atomicAdd(total, place(bit, bit << 1, bit >> 1, (1u << n) - 1));
}

// Life on a torus.
KERNEL life(const unsigned char* from, unsigned char* to) {
    int x = threadIdx.x, y = threadIdx.y, w = blockDim.x, h = blockDim.y, n = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            if (dx || dy) n += from[(y + dy + h) % h * w + (x + dx + w) % w];
    to[y * w + x] = n == 3 || (n == 2 && from[y * w + x]);
}

// Breadth-first distances in a graph of compressed rows, one CTA.
KERNEL distances(const int* rows, const int* edges, int* distance, int n) {
    __shared__ int changed;
    int v = threadIdx.x;
    if (v < n) distance[v] = v ? -1 : 0;
    for (int level = 0;; level++) {
        __syncthreads();
        if (!v) changed = 0;
        __syncthreads();
        if (v < n && distance[v] == level)
            for (int e = rows[v]; e < rows[v + 1]; e++)
                if (atomicCAS(&distance[edges[e]], -1, level + 1) == -1) changed = 1;
        __syncthreads();
        if (!changed) break;
    }
}

KERNEL floyd_warshall(int* d, int n) {
    int i = threadIdx.y, j = threadIdx.x;
    for (int k = 0; k < n; k++) {
        int through = d[i * n + k] + d[k * n + j];
        __syncthreads();
        if (through < d[i * n + j]) d[i * n + j] = through;
        __syncthreads();
    }
}

// Fourier transform of 64 points, in shared memory.
KERNEL fourier(const float2* in, float2* out) {
    __shared__ float2 s[64];
    unsigned i = threadIdx.x;
    s[__brev(2 * i) >> 26] = in[2 * i];
    s[__brev(2 * i + 1) >> 26] = in[2 * i + 1];
    for (int half = 1; half < 64; half *= 2) {
        __syncthreads();
        int at = i / half * half * 2 + i % half;
        float real, imaginary;
        sincospif(-float(i % half) / half, &imaginary, &real);
        float2 a = s[at], b = s[at + half];
        float2 t = {b.x * real - b.y * imaginary, b.x * imaginary + b.y * real};
        s[at] = {a.x + t.x, a.y + t.y};
        s[at + half] = {a.x - t.x, a.y - t.y};
    }
    __syncthreads();
    out[i] = s[i];
    out[i + 32] = s[i + 32];
}

KERNEL black_scholes(const double* price, double* call, double strike, double rate, double volatility, double years) {
    double s = price[threadIdx.x];
    double d1 = (log(s / strike) + (rate + volatility * volatility / 2) * years) / (volatility * sqrt(years));
    double d2 = d1 - volatility * sqrt(years);
    call[threadIdx.x] = s * normcdf(d1) - strike * exp(-rate * years) * normcdf(d2);
}

__constant__ unsigned k256[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98,
    0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8,
    0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819,
    0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
    0xc67178f2};
__device__ unsigned rotated(unsigned x, int n) { return x >> n | x << (32 - n); }

// SHA-256 of messages of 32 bytes.
KERNEL sha256(const unsigned char* messages, unsigned* digests) {
    const unsigned char* m = messages + 32 * threadIdx.x;
    unsigned w[64], h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    for (int i = 0; i < 8; i++) w[i] = m[4 * i] << 24 | m[4 * i + 1] << 16 | m[4 * i + 2] << 8 | m[4 * i + 3];
    w[8] = 0x80000000;
    for (int i = 9; i < 15; i++) w[i] = 0;
    w[15] = 256;
    for (int i = 16; i < 64; i++) {
        unsigned a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (rotated(a, 7) ^ rotated(a, 18) ^ a >> 3) + (rotated(b, 17) ^ rotated(b, 19) ^ b >> 10);
    }
    unsigned v[8];
    for (int i = 0; i < 8; i++) v[i] = h[i];
    for (int i = 0; i < 64; i++) {
        unsigned t1 = v[7] + (rotated(v[4], 6) ^ rotated(v[4], 11) ^ rotated(v[4], 25)) + ((v[4] & v[5]) ^ (~v[4] & v[6])) + k256[i] + w[i];
        unsigned t2 = (rotated(v[0], 2) ^ rotated(v[0], 13) ^ rotated(v[0], 22)) + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        for (int j = 7; j; j--) v[j] = v[j - 1];
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++) digests[8 * threadIdx.x + i] = __byte_perm(h[i] + v[i], 0, 0x0123);
}

KERNEL base64(const unsigned char* in, char* out) {
    const char* letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char* b = in + 3 * threadIdx.x;
    unsigned v = b[0] << 16 | b[1] << 8 | b[2];
    ((char4*)out)[threadIdx.x] = make_char4(letters[v >> 18], letters[v >> 12 & 63], letters[v >> 6 & 63], letters[v & 63]);
}

// Cholesky of one symmetric matrix by a CTA, in place.
KERNEL cholesky(double* a, int n) {
    for (int k = 0; k < n; k++) {
        __syncthreads();
        if (threadIdx.x == k) a[k * n + k] = sqrt(a[k * n + k]);
        __syncthreads();
        if (threadIdx.x > k) a[threadIdx.x * n + k] /= a[k * n + k];
        __syncthreads();
        for (int j = k + 1; j <= threadIdx.x; j++) a[threadIdx.x * n + j] -= a[threadIdx.x * n + k] * a[j * n + k];
    }
}

KERNEL sparse(const int* rows, const int* columns, const float* values, const float* x, float* y) {
    int row = blockIdx.x * blockDim.y + threadIdx.y;  // a warp each
    float sum = 0;
    for (int i = rows[row] + threadIdx.x; i < rows[row + 1]; i += 32) sum += values[i] * x[columns[i]];
    for (int d = 16; d; d >>= 1) sum += __shfl_xor_sync(~0u, sum, d);
    if (!threadIdx.x) y[row] = sum;
}

struct Body { float x, y, z, mass; };
KERNEL bodies(const Body* b, float3* force, int n) {
    __shared__ Body tile[32];
    Body me = b[threadIdx.x];
    float3 f = {0, 0, 0};
    for (int t = 0; t < n; t += 32) {
        __syncthreads();
        if (threadIdx.x < 32) tile[threadIdx.x] = b[t + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 32; j++) {
            float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
            float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), w = tile[j].mass * r * r * r;
            f.x += dx * w, f.y += dy * w, f.z += dz * w;
        }
    }
    force[threadIdx.x] = f;
}

// A switch with many cases, strings, and numbers that are written out.
KERNEL numerals(const int* numbers, char* text) {
    char* out = text + 16 * threadIdx.x;
    int n = numbers[threadIdx.x];
    const int values[] = {1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1};
    const char* names[] = {"M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"};
    for (int i = 0; i < 13; i++)
        for (; n >= values[i]; n -= values[i])
            for (const char* c = names[i]; *c; c++) *out++ = *c;
    *out = 0;
}
KERNEL days(const int* months, int* out) {
    switch (months[threadIdx.x]) {
        case 1: case 3: case 5: case 7: case 8: case 10: case 12: out[threadIdx.x] = 31; break;
        case 2: out[threadIdx.x] = 28; break;
        case 4: case 6: case 9: case 11: out[threadIdx.x] = 30; break;
        default: out[threadIdx.x] = -1;
    }
}

// Bit fields, unions, packed structures.
struct Fields { unsigned a : 5; int b : 7; unsigned long long c : 40; unsigned d : 12; };
union Either { float f; unsigned u; unsigned char b[4]; };
KERNEL fields(const unsigned* x, long long* out) {
    Fields f;
    f.a = x[threadIdx.x], f.b = x[threadIdx.x] >> 5, f.c = x[threadIdx.x] * 0x12345ull, f.d = ~x[threadIdx.x];
    Either e;
    e.u = x[threadIdx.x];
    e.b[3] ^= e.b[0];
    out[4 * threadIdx.x] = f.a + f.b;
    out[4 * threadIdx.x + 1] = f.c;
    out[4 * threadIdx.x + 2] = f.d;
    out[4 * threadIdx.x + 3] = e.u;
}

// Pointers to functions and members, lambdas, templates.
template <class F> __device__ int twice(F f, int x) { return f(f(x)); }
__device__ int increment(int x) { return x + 1; }
__device__ int doubled(int x) { return 2 * x; }
__device__ int (*functions[2])(int) = {increment, doubled};
KERNEL higher_order(int* x) {
    int i = threadIdx.x, y = x[i];
    y = twice([=](int v) { return v * i - 1; }, y);
    x[i] = functions[i % 2](y);
}

// 64-bit and 128-bit arithmetic.
KERNEL wide(const unsigned long long* a, const unsigned long long* b, unsigned long long* out) {
    unsigned long long x = a[threadIdx.x], y = b[threadIdx.x];
    unsigned __int128 p = (unsigned __int128)x * y;
    unsigned long long* o = out + 6 * threadIdx.x;
    o[0] = p, o[1] = p >> 64, o[2] = x / y, o[3] = x % y, o[4] = (p + x) >> 37, o[5] = (long long)x >> (y & 63);
}

KERNEL halves(const __half* a, const __half* b, __half* out, __nv_bfloat16* brains) {
    int i = threadIdx.x;
    __half2 x = {a[i], b[i]}, y = {b[i], a[i]};
    __half2 z = __hfma2(x, y, __float2half2_rn(0.5f));
    out[3 * i] = __low2half(z);
    out[3 * i + 1] = a[i] / b[i];
    out[3 * i + 2] = __hgt(a[i], b[i]) ? hsqrt(__habs(a[i])) : __hneg(b[i]);
    brains[i] = __float2bfloat16(__half2float(a[i])) + __float2bfloat16(__half2float(b[i]));
}

KERNEL elementary(const float* x, float* out) {
    float v = x[threadIdx.x], *o = out + 12 * threadIdx.x;
    o[0] = sinf(v), o[1] = cosf(v), o[2] = expf(v), o[3] = logf(fabsf(v)), o[4] = powf(fabsf(v), 1.7f), o[5] = atan2f(v, 2);
    o[6] = tanhf(v), o[7] = cbrtf(v), o[8] = erff(v), o[9] = sinf(v * 100000), o[10] = fmodf(v, 0.3f), o[11] = ldexpf(v, 5);
}

// Work that is stolen: threads draw numbers of tasks; a queue in shared memory with a lock by atomicExch.
KERNEL queue(int* sum, int tasks) {
    __shared__ int next, lock, total;
    if (!threadIdx.x) next = lock = total = 0;
    __syncthreads();
    for (int task; (task = atomicAdd(&next, 1)) < tasks;) {
        while (atomicExch(&lock, 1)) {}
        __threadfence_block();
        *(volatile int*)&total = *(volatile int*)&total * 31 % 1009 + 1;
        __threadfence_block();
        atomicExch(&lock, 0);
    }
    __syncthreads();
    if (!threadIdx.x) *sum = total;
}

KERNEL mask_and_match(const int* keys, unsigned* out) {
    int k = keys[threadIdx.x];
    unsigned same = __match_any_sync(~0u, k), first = __ffs(same) - 1;
#if __CUDA_ARCH__ >= 800
    unsigned sum = __reduce_add_sync(same, threadIdx.x);
#else
    unsigned sum = 0;
    for (int lane = 0; lane < 32; lane++) sum += (same >> lane & 1) * __shfl_sync(~0u, threadIdx.x, lane);
#endif
    out[threadIdx.x] = sum * 100 + first + (__syncthreads_count(k > 2) << 16);
}

KERNEL printing(int n) {
    for (int i = 0; i < n; i++)
        printf("%d %u %5.2f|%-4s|%c %x %llx %08d %+d %e %g %%\n", -i, i, i / 3.0, "ab", 'c' + i, 255, 1ull << 40, 42, 7, 12345.678, 1e-5);
}

// An array that is indexed as the data say, memcpy and memset.
KERNEL permuted(const int* order, int* out) {
    int local[16], again[16];
    for (int i = 0; i < 16; i++) local[order[16 * threadIdx.x + i]] = i;
    memset(again, 0xff, sizeof again);
    memcpy(again, local, 15 * sizeof(int));
    for (int i = 0; i < 16; i++) out[16 * threadIdx.x + i] = again[i];
}

KERNEL quicksort(int* values, int n) {
    if (threadIdx.x) return;
    int low[32], high[32], top = 0;
    low[top] = 0, high[top++] = n - 1;
    while (top--) {
        int l = low[top], h = high[top];
        if (l >= h) continue;
        int pivot = values[(l + h) / 2], i = l, j = h;
        while (i <= j) {
            while (values[i] < pivot) i++;
            while (values[j] > pivot) j--;
            if (i <= j) { int t = values[i]; values[i++] = values[j]; values[j--] = t; }
        }
        low[top] = l, high[top++] = j;
        low[top] = i, high[top++] = h;
    }
}
