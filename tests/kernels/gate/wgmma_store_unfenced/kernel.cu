// sums go through shared memory and a bulk store; buggy: no fence between the proxies before the store
typedef unsigned u; typedef unsigned long long ull;
#define D static __device__ __forceinline__
// Two small numbers, powers of two so that each sum of products is exact: another pair for nearly each i.
D u ints(u i) { return 0x3c003c00 + (i * 0x9e3779b1u >> 30 << 10) + (i * 0x85ebca6bu >> 30 << 26); }
D u smem(const void *p) { return (u)__cvta_generic_to_shared(p); }
D void store(void *to, u from, u n) { asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2; cp.async.bulk.commit_group;" :: "l"(to), "r"(from), "r"(n) : "memory"); }
D void stored() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
D void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
D ull desc(u at) { return (ull)((at & 0x3ffff) >> 4) | 8ull << 16 | 16ull << 32; }
D void wcommit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template<int N> D void wwait(float (&d)[4]) { asm volatile("wgmma.wait_group.sync.aligned %4;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "n"(N) : "memory"); }
D void mma(float (&d)[4], u a, u b) { asm volatile("wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(desc(a)), "l"(desc(b)) : "memory"); }
D void put(float *out, const float (&d)[4]) { for (int i = 0; i < 4; i++) out[(threadIdx.x & 127) * 4 + i] = d[i]; }

extern "C" __global__ void k(float *out) {
  __shared__ alignas(128) u a[512], b[64]; __shared__ alignas(128) float c[512];
  for (int i = threadIdx.x; i < 512; i += 128) a[i] = ints(i);
  if (threadIdx.x < 64) b[threadIdx.x] = ints(1024 + threadIdx.x);
  fence_async();
  __syncthreads();
  float d[4] = {};
  mma(d, smem(a), smem(b)); wcommit(); wwait<0>(d);
  put(c, d);
  if (!BUG) fence_async();
  __syncthreads();
  if (threadIdx.x == 0) { store(out, smem(c), 2048); stored(); }
}
