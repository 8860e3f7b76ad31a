// a warpgroup brings a ring of two stages by cp.async, which arrive without being counted (.noinc), another one multiplies; buggy: it does not fence between the proxies
typedef unsigned u; typedef unsigned long long ull;
#define D static __device__ __forceinline__
D u smem(const void *p) { return (u)__cvta_generic_to_shared(p); }
D void minit(u m, u n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(m), "r"(n) : "memory"); }
D void fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
D void mwait(u m, u parity) { u ok; do { asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(m), "r"(parity) : "memory"); } while (!ok); }
D void marrive(u m) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(m) : "memory"); }
D void fence_proxy() { asm volatile("fence.proxy.async;" ::: "memory"); }
D ull desc(u at) { return (ull)((at & 0x3ffff) >> 4) | 8ull << 16 | 16ull << 32; }
D void wcommit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template<int N> D void wwait(float (&d)[4]) { asm volatile("wgmma.wait_group.sync.aligned %4;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "n"(N) : "memory"); }
D void wmma(float (&d)[4], u a, u b) { asm volatile("wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(desc(a)), "l"(desc(b)) : "memory"); }

extern "C" __global__ void k(const char *a, const char *b, float *out) {
  __shared__ alignas(128) char s[2][2304]; __shared__ alignas(8) ull full[2], empty[2];
  const int t = threadIdx.x;
  if (t == 0) { for (int i = 0; i < 2; i++) { minit(smem(&full[i]), 128); minit(smem(&empty[i]), 128); } fence_init(); }
  __syncthreads();
  if (t >= 128) {
    const int p = t - 128;
    for (int n = 0; n < 4; n++) {
      if (n >= 2) mwait(smem(&empty[n & 1]), (n / 2 - 1) & 1);
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(smem(s[n & 1]) + 16 * p), "l"(a + 2048 * n + 16 * p) : "memory");
      if (p < 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(smem(s[n & 1]) + 2048 + 16 * p), "l"(b + 256 * n + 16 * p) : "memory");
      asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" :: "r"(smem(&full[n & 1])) : "memory");
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
  } else {
    float d[4] = {};
    for (int n = 0; n < 4; n++) {
      mwait(smem(&full[n & 1]), n / 2 & 1);
      if (!BUG) fence_proxy();
      wmma(d, smem(s[n & 1]), smem(s[n & 1]) + 2048); wcommit(); wwait<0>(d);
      marrive(smem(&empty[n & 1]));
    }
    for (int i = 0; i < 4; i++) out[t * 4 + i] = d[i];
  }
}
