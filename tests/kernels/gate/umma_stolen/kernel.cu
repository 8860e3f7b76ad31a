// a thread asks for the next tile by clusterlaunchcontrol, another one multiplies, a warpgroup stores; buggy: it asks again before all have read the answer
typedef unsigned u; typedef unsigned long long ull;
#define D static __device__ __forceinline__
D u smem(const void *p) { return (u)__cvta_generic_to_shared(p); }
D void minit(u m, u n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(m), "r"(n) : "memory"); }
D void fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
D void mwait(u m, u parity) { u ok; do { asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(m), "r"(parity) : "memory"); } while (!ok); }
D void mexpect(u m, u n) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(m), "r"(n) : "memory"); }
D void marrive(u m) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(m) : "memory"); }
D void load(u to, const void *from, u n, u m) { asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"(to), "l"(from), "r"(n), "r"(m) : "memory"); }
D void named(u n, u threads) { asm volatile("bar.sync %0, %1;" :: "r"(n), "r"(threads) : "memory"); }
D void fence_proxy() { asm volatile("fence.proxy.async;" ::: "memory"); }
D ull desc(u at) { return (ull)((at & 0x3ffff) >> 4) | 8ull << 16 | 16ull << 32; }
D ull desc5(u at) { return desc(at) | 1ull << 46; }
template<int N> D void alloc(u to) { asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" :: "r"(to), "n"(N) : "memory"); }
template<int N> D void dealloc(u t) { asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" :: "r"(t), "n"(N) : "memory"); }
D void relinquish() { asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::: "memory"); }
D void before() { asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }
D void after() { asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }
D void commit(u m) { asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" :: "r"(m) : "memory"); }
D void umma(u d, u a, u b, u adds) { asm volatile("{ .reg .pred p; setp.ne.u32 p, %3, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, 0x8040010, p; }" :: "r"(d), "l"(desc5(a)), "l"(desc5(b)), "r"(adds) : "memory"); }
D u lanes(u t) { return t + ((threadIdx.x & 96) << 16); }
#define OUT16 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}"
#define V16(c) c(v[0]), c(v[1]), c(v[2]), c(v[3]), c(v[4]), c(v[5]), c(v[6]), c(v[7]), c(v[8]), c(v[9]), c(v[10]), c(v[11]), c(v[12]), c(v[13]), c(v[14]), c(v[15])
D void get(float (&v)[16], u t) { asm volatile("tcgen05.ld.sync.aligned.32x32b.x16.b32 " OUT16 ", [%16];" : V16("=f") : "r"(lanes(t)) : "memory"); }
D void wait_ld() { asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory"); }

struct Answer { u x; bool got; };
D Answer answer(u at) { u x, ok; asm volatile("{ .reg .b128 r; .reg .pred p; ld.shared.b128 r, [%2]; clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, r; selp.u32 %1, 1, 0, p; mov.u32 %0, 0; @p clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %0, r; }" : "=r"(x), "=r"(ok) : "r"(at) : "memory"); return {x, ok != 0}; }
extern "C" __global__ void k(const char *a, const char *b, float *out) {
  __shared__ alignas(128) char s[4608]; __shared__ alignas(16) u response[4]; __shared__ alignas(8) ull full, told, taken, done, read; __shared__ u base;
  const int t = threadIdx.x;
  if (t == 0) { minit(smem(&full), 1); minit(smem(&told), 1); minit(smem(&taken), 129); minit(smem(&done), 1); minit(smem(&read), 128); fence_init(); }
  if (t < 32) { alloc<32>(smem(&base)); relinquish(); }
  before(); __syncthreads(); after();
  if (t == 128) {
    for (u n = 0;; n++) {
      if (n && !BUG) { mwait(smem(&taken), (n - 1) & 1); }
      fence_proxy();
      mexpect(smem(&told), 16);
      asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%0], [%1];" :: "r"(smem(response)), "r"(smem(&told)) : "memory");
      mwait(smem(&told), n & 1);
      if (!answer(smem(response)).got) break;
    }
  } else if (t == 160) {
    u tile = blockIdx.x;
    for (u n = 0;; n++) {
      if (n) { mwait(smem(&read), (n - 1) & 1); after(); fence_proxy(); }
      mexpect(smem(&full), 4608);
      load(smem(s), a + 4096 * tile, 4096, smem(&full)); load(smem(s) + 4096, b, 512, smem(&full));
      mwait(smem(&full), n & 1); fence_proxy(); after();
      umma(base, smem(s), smem(s) + 4096, 0);
      commit(smem(&done));
      mwait(smem(&told), n & 1);
      Answer next = answer(smem(response));
      marrive(smem(&taken));
      if (!next.got) break;
      tile = next.x;
    }
  } else if (t < 128) {
    u tile = blockIdx.x;
    for (u n = 0;; n++) {
      mwait(smem(&done), n & 1); after();
      float v[16]; get(v, base); wait_ld();
      for (int i = 0; i < 16; i += 5) out[tile * 512 + t * 4 + i / 5] = v[i];
      before(); marrive(smem(&read));
      mwait(smem(&told), n & 1);
      Answer next = answer(smem(response));
      marrive(smem(&taken));
      if (!next.got) break;
      tile = next.x;
    }
    before(); named(1, 128);
    if (t < 32) dealloc<32>(base);
  }
}
