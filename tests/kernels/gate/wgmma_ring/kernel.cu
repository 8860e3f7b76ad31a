// CUTLASS' pipeline of two stages: a warp loads by bulk copies, a warpgroup multiplies and gives stages back; buggy: before it has waited for the product
typedef unsigned u; typedef unsigned long long ull;
#define D static __device__ __forceinline__
D u smem(const void *p) { return (u)__cvta_generic_to_shared(p); }
D void minit(u m, u n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(m), "r"(n) : "memory"); }
D void fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
D void mwait(u m, u parity) { u ok; do { asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(m), "r"(parity) : "memory"); } while (!ok); }
D void mexpect(u m, u n) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(m), "r"(n) : "memory"); }
D void marrive(u m) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(m) : "memory"); }
D void load(u to, const void *from, u n, u m) { asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"(to), "l"(from), "r"(n), "r"(m) : "memory"); }
D ull desc(u at) { return (ull)((at & 0x3ffff) >> 4) | 8ull << 16 | 16ull << 32; }
D void wcommit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template<int N> D void wwait(float (&d)[4]) { asm volatile("wgmma.wait_group.sync.aligned %4;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "n"(N) : "memory"); }
D void mma(float (&d)[4], u a, u b) { asm volatile("wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(desc(a)), "l"(desc(b)) : "memory"); }
D void put(float *out, const float (&d)[4]) { for (int i = 0; i < 4; i++) out[(threadIdx.x & 127) * 4 + i] = d[i]; }

extern "C" __global__ void k(const char *a, const char *b, float *out) {
  __shared__ alignas(128) char s[2][2304]; __shared__ alignas(8) ull full[2], empty[2];
  const int t = threadIdx.x;
  if (t == 0) { for (int i = 0; i < 2; i++) { minit(smem(&full[i]), 1); minit(smem(&empty[i]), 128); } fence_init(); }
  __syncthreads();
  if (t == 128) {
    for (int n = 0; n < 4; n++) {
      if (n >= 2) mwait(smem(&empty[n & 1]), (n / 2 - 1) & 1);
      mexpect(smem(&full[n & 1]), 2304);
      load(smem(s[n & 1]), a + 2048 * n, 2048, smem(&full[n & 1]));
      load(smem(s[n & 1]) + 2048, b + 256 * n, 256, smem(&full[n & 1]));
    }
  } else if (t < 128) {
    float d[4] = {};
    for (int n = 0; n < 4; n++) {
      mwait(smem(&full[n & 1]), n / 2 & 1);
      mma(d, smem(s[n & 1]), smem(s[n & 1]) + 2048); wcommit();
      if (BUG) marrive(smem(&empty[n & 1]));
      wwait<0>(d);
      if (!BUG) marrive(smem(&empty[n & 1]));
    }
    wwait<0>(d);
    put(out, d);
  }
}
