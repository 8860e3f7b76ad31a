// A of wgmma comes from registers, which are used again for the next tile; buggy: before the product is waited for
typedef unsigned u; typedef unsigned long long ull;
#define D static __device__ __forceinline__
D u smem(const void *p) { return (u)__cvta_generic_to_shared(p); }
D void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
D ull desc(u at) { return (ull)((at & 0x3ffff) >> 4) | 8ull << 16 | 16ull << 32; }
D void put(float *out, const float (&d)[4]) { for (int i = 0; i < 4; i++) out[(threadIdx.x & 127) * 4 + i] = d[i]; }

extern "C" __global__ void k(float *out) {
  __shared__ alignas(128) u b[64];
  if (threadIdx.x < 64) b[threadIdx.x] = 0x40004000;
  fence_async();
  __syncthreads();
  float d[4] = {};
  u a[1] = {0x3c003c00};

  asm volatile("{ .reg .b32 r; mov.b32 r, %4; wgmma.fence.sync.aligned;\n"
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {r, r, r, r}, %5, 1, 1, 1, 0;\n"
    "wgmma.commit_group.sync.aligned;\n"
#if !BUG
    "wgmma.wait_group.sync.aligned 0;\n"
#endif
    "mov.b32 r, 0x40004000;\n"
    "wgmma.fence.sync.aligned;\n"
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {r, r, r, r}, %5, 1, 1, 1, 0;\n"
    "wgmma.commit_group.sync.aligned;\n"
    "wgmma.wait_group.sync.aligned 0; }" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "l"(desc(smem(b))) : "memory");
  put(out, d);
}
