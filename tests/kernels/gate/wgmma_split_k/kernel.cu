// two CTAs multiply a half of K each, and add their sums up in memory by reducing bulk copies; buggy: no fence between the proxies stands before these
typedef unsigned u; typedef unsigned long long ull;
#define D static __device__ __forceinline__
D u smem(const void *p) { return (u)__cvta_generic_to_shared(p); }
D void minit(u m, u n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(m), "r"(n) : "memory"); }
D void fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
D void mwait(u m, u parity) { u ok; do { asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(m), "r"(parity) : "memory"); } while (!ok); }
D void mexpect(u m, u n) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(m), "r"(n) : "memory"); }
D void load(u to, const void *from, u n, u m) { asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"(to), "l"(from), "r"(n), "r"(m) : "memory"); }
D void fence_proxy() { asm volatile("fence.proxy.async;" ::: "memory"); }
D ull desc(u at) { return (ull)((at & 0x3ffff) >> 4) | 8ull << 16 | 16ull << 32; }
D void wcommit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template<int N> D void wwait(float (&d)[4]) { asm volatile("wgmma.wait_group.sync.aligned %4;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "n"(N) : "memory"); }
D void wmma(float (&d)[4], u a, u b) { asm volatile("wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(desc(a)), "l"(desc(b)) : "memory"); }

extern "C" __global__ void k(const char *a, const char *b, float *out) {
  __shared__ alignas(128) char s[2304]; __shared__ alignas(128) float c[512]; __shared__ alignas(8) ull full;
  const int t = threadIdx.x; const int n = blockIdx.x;
  if (t == 0) { minit(smem(&full), 1); fence_init(); }
  __syncthreads();
  if (t == 0) { mexpect(smem(&full), 2304); load(smem(s), a + 2048 * n, 2048, smem(&full)); load(smem(s) + 2048, b + 256 * n, 256, smem(&full)); }
  __syncwarp();
  float d[4] = {};
  mwait(smem(&full), 0);
  wmma(d, smem(s), smem(s) + 2048); wcommit(); wwait<0>(d);
  for (int i = 0; i < 4; i++) c[t * 4 + i] = d[i];
  if (!BUG) fence_proxy();
  __syncthreads();
  if (t == 0) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], 2048;" :: "l"(out), "r"(smem(c)) : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
  }
}
