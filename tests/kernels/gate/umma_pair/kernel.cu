// two CTAs multiply together, each with half of A and of B in its own shared memory; buggy: the product does not wait for the half of the peer
typedef unsigned u; typedef unsigned long long ull;
#define D static __device__ __forceinline__
D u smem(const void *p) { return (u)__cvta_generic_to_shared(p); }
D void minit(u m, u n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(m), "r"(n) : "memory"); }
D void fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
D void mwait(u m, u parity) { u ok; do { asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(m), "r"(parity) : "memory"); } while (!ok); }
D void mexpect(u m, u n) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(m), "r"(n) : "memory"); }
D void load(u to, const void *from, u n, u m) { asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"(to), "l"(from), "r"(n), "r"(m) : "memory"); }
D void named(u n, u threads) { asm volatile("bar.sync %0, %1;" :: "r"(n), "r"(threads) : "memory"); }
D void arrive(u m, u cta) { asm volatile("{ .reg .b32 a; mapa.shared::cluster.u32 a, %0, %1; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [a]; }" :: "r"(m), "r"(cta) : "memory"); }
D ull desc(u at) { return (ull)((at & 0x3ffff) >> 4) | 8ull << 16 | 16ull << 32 | 1ull << 46; }
template<int N> D void alloc(u to) { asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;" :: "r"(to), "n"(N) : "memory"); }
template<int N> D void dealloc(u t) { asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;" :: "r"(t), "n"(N) : "memory"); }
D void before() { asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }
D void after() { asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }
D void commit(u m) { asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.b64 [%0];" :: "r"(m) : "memory"); }
D void commit_both(u m) { asm volatile("{ .reg .b16 both; mov.b16 both, 3; tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], both; }" :: "r"(m) : "memory"); }
D void fence_proxy() { asm volatile("fence.proxy.async;" ::: "memory"); }
D void cluster_sync() { asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory"); }
D u rank() { u r; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
D void mma(u d, u a, u b, u adds) { asm volatile("{ .reg .pred p; setp.ne.u32 p, %3, 0; tcgen05.mma.cta_group::2.kind::f16 [%0], %1, %2, 0x10040010, p; }" :: "r"(d), "l"(desc(a)), "l"(desc(b)), "r"(adds) : "memory"); }
D u lanes(u t) { return t + ((threadIdx.x & 96) << 16); }
D void get(float (&v)[16], u t) { asm volatile("tcgen05.ld.sync.aligned.32x32b.x16.b32 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, [%16];" : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3]), "=f"(v[4]), "=f"(v[5]), "=f"(v[6]), "=f"(v[7]), "=f"(v[8]), "=f"(v[9]), "=f"(v[10]), "=f"(v[11]), "=f"(v[12]), "=f"(v[13]), "=f"(v[14]), "=f"(v[15]) : "r"(lanes(t)) : "memory"); }
D void wait_ld() { asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory"); }
D void put(float *out, const float (&v)[16]) { for (int i = 0; i < 16; i += 5) out[(threadIdx.x & 127) * 4 + i / 5] = v[i]; }

extern "C" __global__ void __cluster_dims__(2) k(const char *a, const char *b, float *out) {
  __shared__ alignas(128) char s[4352]; __shared__ alignas(8) ull full, used, peer, empty, done; __shared__ u base;
  const int t = threadIdx.x;
  const u cta = rank();
  if (t == 0) { minit(smem(&full), 1); minit(smem(&used), 1); minit(smem(&peer), 1); minit(smem(&empty), 1); minit(smem(&done), 1); fence_init(); }
  cluster_sync();
  if (t < 32) alloc<32>(smem(&base));
  before();
  __syncthreads();
  after();
  if (t == 128) {
    for (int n = 0; n < 2; n++) {
      if (n >= 1) { mwait(smem(&empty), n - 1 & 1); fence_proxy(); }
      mexpect(smem(&full), 4352);
      load(smem(s), a + 4096 * (2 * n + cta), 4096, smem(&full));
      load(smem(s) + 4096, b + 256 * (2 * n + cta), 256, smem(&full));
    }
  } else if (t == 160 && cta == 1) {
    for (int n = 0; n < 2; n++) { mwait(smem(&full), n & 1); arrive(smem(&peer), 0); }
  } else if (t == 160) {
    for (int n = 0; n < 2; n++) {
      mwait(smem(&full), n & 1);
#if !BUG
      mwait(smem(&peer), n & 1);
#endif
      fence_proxy();
      after();
      mma(base, smem(s), smem(s) + 4096, n);
      commit(smem(&used));
    }
    commit_both(smem(&done));
  } else if (t == 192 && cta == 0) {
    mwait(smem(&used), 0);
    fence_proxy();
    for (int i = 0; i < 2; i++) arrive(smem(&empty), i);
  } else if (t < 128) {
    mwait(smem(&done), 0);
    after();
    float v[16];
    get(v, base); wait_ld();
    put(out + 512 * cta, v);
    before();
    named(1, 128);
    if (t < 32) dealloc<32>(base);
  }
  __syncwarp();
  cluster_sync();
}
