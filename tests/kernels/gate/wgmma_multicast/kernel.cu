// two CTAs multiply by the same B, of which each loads one half for both by multicast copies; one thread of a warpgroup gives a stage back to both CTAs while the next product is in flight, as CUTLASS' consumers do; buggy: to its own alone
typedef unsigned u; typedef unsigned long long ull;
#define D static __device__ __forceinline__
D u smem(const void *p) { return (u)__cvta_generic_to_shared(p); }
D void minit(u m, u n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(m), "r"(n) : "memory"); }
D void fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
D void mwait(u m, u parity) { u ok; do { asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(m), "r"(parity) : "memory"); } while (!ok); }
D void mexpect(u m, u n) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(m), "r"(n) : "memory"); }
D void arrive_at(u m, u cta) { asm volatile("{ .reg .b32 a; mapa.shared::cluster.u32 a, %0, %1; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [a]; }" :: "r"(m), "r"(cta) : "memory"); }
D void load(u to, const void *from, u n, u m) { asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"(to), "l"(from), "r"(n), "r"(m) : "memory"); }
D void multicast(u to, const void *from, u n, u m) { asm volatile("{ .reg .b16 both; mov.b16 both, 3; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], both; }" :: "r"(to), "l"(from), "r"(n), "r"(m) : "memory"); }
D void fence_proxy() { asm volatile("fence.proxy.async;" ::: "memory"); }
D void cluster_sync() { asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory"); }
D u rank() { u r; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
D ull desc(u at) { return (ull)((at & 0x3ffff) >> 4) | 8ull << 16 | 16ull << 32; }
D void wcommit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template<int N> D void wwait(float (&d)[4]) { asm volatile("wgmma.wait_group.sync.aligned %4;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "n"(N) : "memory"); }
D void wmma(float (&d)[4], u a, u b) { asm volatile("wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(desc(a)), "l"(desc(b)) : "memory"); }

extern "C" __global__ void __cluster_dims__(2) k(const char *a, const char *b, float *out) {
  __shared__ alignas(128) char s[2][2304]; __shared__ alignas(8) ull full[2], empty[2];
  const int t = threadIdx.x; const u cta = rank();
  if (t == 0) { for (int i = 0; i < 2; i++) { minit(smem(&full[i]), 1); minit(smem(&empty[i]), BUG ? 1 : 2); } fence_init(); }
  cluster_sync();
  if (t == 128) {
    for (int n = 0; n < 4; n++) {
      if (n >= 2) { mwait(smem(&empty[n & 1]), (n / 2 - 1) & 1); fence_proxy(); }
      mexpect(smem(&full[n & 1]), 2304);
      load(smem(s[n & 1]), a + 2048 * n, 2048, smem(&full[n & 1]));
      multicast(smem(s[n & 1]) + 2048 + 128 * cta, b + 256 * n + 128 * cta, 128, smem(&full[n & 1]));
    }
  } else if (t < 128) {
    float d[4] = {};
    for (int n = 0; n < 4; n++) {
      mwait(smem(&full[n & 1]), n / 2 & 1); fence_proxy();
      wmma(d, smem(s[n & 1]), smem(s[n & 1]) + 2048); wcommit(); wwait<1>(d);
      if (n && t == 37) { arrive_at(smem(&empty[(n - 1) & 1]), cta); if (!BUG) arrive_at(smem(&empty[(n - 1) & 1]), cta ^ 1); }
    }
    wwait<0>(d);
    for (int i = 0; i < 4; i++) out[cta * 512 + (t & 127) * 4 + i] = d[i];
  }
  __syncwarp();
  cluster_sync();
}
