// libcu++ atomics of every scope, order and width, and the older intrinsics.
#include <cuda/atomic>

template <cuda::thread_scope S, class T>
__device__ T exercise(T* at, T x) {
    cuda::atomic_ref<T, S> a(*at);
    a.store(x, cuda::memory_order_release);
    T r = a.load(cuda::memory_order_acquire) + a.load(cuda::memory_order_seq_cst);
    r += a.exchange(x, cuda::memory_order_acq_rel);
    T expected = r;
    while (!a.compare_exchange_weak(expected, x, cuda::memory_order_acq_rel, cuda::memory_order_relaxed)) r += expected;
    a.fetch_add(x, cuda::memory_order_relaxed);
    r += a.fetch_add(x, cuda::memory_order_seq_cst);
    a.store(r);
    return r;
}
template <class T>
__device__ T all_scopes(T* at, T x) {
    return exercise<cuda::thread_scope_block>(at, x) + exercise<cuda::thread_scope_device>(at, x) +
           exercise<cuda::thread_scope_system>(at, x);
}
__global__ void scopes(int* i, unsigned long long* u, float* f, double* d, short* s, unsigned char* c) {
    *i = all_scopes(i + 1, 3);
    *u = all_scopes(u + 1, 3ull);
    *f = all_scopes(f + 1, 3.0f);
    *d = all_scopes(d + 1, 3.0);
    *s = all_scopes<short>(s + 1, 3);
    *c = all_scopes<unsigned char>(c + 1, 3);
}

__device__ cuda::atomic<int, cuda::thread_scope_device> ticket{0}, serving{0};
__global__ void lock(int* shared_work) {
    int mine = ticket.fetch_add(1, cuda::memory_order_relaxed);
    while (serving.load(cuda::memory_order_acquire) != mine) __nanosleep(20);
    ++*shared_work;
    serving.fetch_add(1, cuda::memory_order_release);
    serving.notify_all();
    serving.wait(mine);
}
__global__ void bits(unsigned* p, long long* q) {
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> a(*p);
    cuda::atomic_ref<long long, cuda::thread_scope_block> b(*q);
    a.fetch_and(7); a.fetch_or(8); a.fetch_xor(9);
    a.fetch_min(3); a.fetch_max(4); b.fetch_min(-3); b.fetch_max(4);
    cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
    cuda::atomic_thread_fence(cuda::memory_order_acq_rel, cuda::thread_scope_block);
    cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_system);
}
__global__ void intrinsics(int* i, unsigned* u, float* f, double* d, unsigned long long* l, unsigned short* h) {
    __shared__ int s[32];
    s[threadIdx.x & 31] = 0;
    __syncthreads();
    atomicAdd(s + (threadIdx.x & 3), 1); atomicCAS(s, 1, 2); atomicExch(s + 1, 4);
    *i = atomicAdd(i, s[1]) + atomicSub(i, 2) + atomicExch(i, 3) + atomicMin(i, 4) + atomicMax(i, 5);
    *u = atomicInc(u, 6) + atomicDec(u, 7) + atomicAnd(u, 8) + atomicOr(u, 9) + atomicXor(u, 10) + atomicCAS(u, 1, 2);
    *f = atomicAdd(f, 1.0f) + atomicExch(f, 2.0f); *d = atomicAdd(d, 1.0);
    *l = atomicAdd(l, 1ull) + atomicCAS(l, 2ull, 3ull) + atomicMax(l, 5ull);
    atomicCAS(h, (unsigned short)1, (unsigned short)2);
    atomicAdd_block(i, 1); atomicAdd_system(i, 2); atomicMax_system(u, 3u);
    __threadfence(); __threadfence_block(); __threadfence_system();
}
#if __CUDA_ARCH__ >= 900
__global__ void wide(unsigned long long* p) {
    asm volatile(
        "{\n\t.reg .b128 expected, wanted, seen;\n\t"
        "mov.b128 expected, {%0, %1};\n\tmov.b128 wanted, {%1, %0};\n\t"
        "atom.relaxed.gpu.global.cas.b128 seen, [%2], expected, wanted;\n\t"
        "atom.release.sys.global.exch.b128 seen, [%2], seen;\n\t"
        "mov.b128 {%0, %1}, seen;\n\t}"
        : "+l"(p[2]), "+l"(p[3]) : "l"(__cvta_generic_to_global(p)) : "memory");
}
__global__ void vectors(float4* f, float2* g) { atomicAdd(f, float4{1, 2, 3, 4}); atomicAdd(g, float2{1, 2}); }
#endif
