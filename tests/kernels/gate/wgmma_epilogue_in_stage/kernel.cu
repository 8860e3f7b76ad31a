// sums are laid where the tile was that they come of; buggy: before the product is waited for: by the other half of the warpgroup, which multiplied it
typedef unsigned u; typedef unsigned long long ull;
#define D static __device__ __forceinline__
// Two small numbers, powers of two so that each sum of products is exact: another pair for nearly each i.
D u ints(u i) { return 0x3c003c00 + (i * 0x9e3779b1u >> 30 << 10) + (i * 0x85ebca6bu >> 30 << 26); }
D u smem(const void *p) { return (u)__cvta_generic_to_shared(p); }
D void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
D ull desc(u at) { return (ull)((at & 0x3ffff) >> 4) | 8ull << 16 | 16ull << 32; }
D void wcommit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template<int N> D void wwait(float (&d)[4]) { asm volatile("wgmma.wait_group.sync.aligned %4;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "n"(N) : "memory"); }
D void mma(float (&d)[4], u a, u b) { asm volatile("wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(desc(a)), "l"(desc(b)) : "memory"); }

extern "C" __global__ void k(float *out) {
  __shared__ alignas(128) u a[512], b[64];
  for (int i = threadIdx.x; i < 512; i += 128) a[i] = ints(i);
  if (threadIdx.x < 64) b[threadIdx.x] = ints(1024 + threadIdx.x);
  fence_async();
  __syncthreads();
  float d[4] = {};
  mma(d, smem(a), smem(b)); wcommit();
  if (BUG) a[threadIdx.x] = 2;
  wwait<0>(d);
  __syncthreads();
  if (!BUG) a[threadIdx.x] = 2;
  __syncthreads();
  for (int i = 0; i < 4; i++) out[threadIdx.x * 4 + i] = d[i] + a[threadIdx.x ^ 1];
}
