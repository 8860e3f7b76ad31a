// a thread copies scales to Tensor Memory, multiplies by them in order behind, and waits before it copies others there; buggy: another thread copies them, and fences nothing
typedef unsigned u; typedef unsigned long long ull;
#define D static __device__ __forceinline__
D u smem(const void *p) { return (u)__cvta_generic_to_shared(p); }
D void minit(u m, u n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(m), "r"(n) : "memory"); }
D void fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
D void mwait(u m, u parity) { u ok; do { asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(m), "r"(parity) : "memory"); } while (!ok); }
D void marrive(u m) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(m) : "memory"); }
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
D u lanes(u t) { return t + ((threadIdx.x & 96) << 16); }
#define OUT16 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}"
#define V16(c) c(v[0]), c(v[1]), c(v[2]), c(v[3]), c(v[4]), c(v[5]), c(v[6]), c(v[7]), c(v[8]), c(v[9]), c(v[10]), c(v[11]), c(v[12]), c(v[13]), c(v[14]), c(v[15])
D void get(float (&v)[16], u t) { asm volatile("tcgen05.ld.sync.aligned.32x32b.x16.b32 " OUT16 ", [%16];" : V16("=f") : "r"(lanes(t)) : "memory"); }
D void wait_ld() { asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory"); }

D void cp_scales(u t, u from) { asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" :: "r"(t), "l"((ull)((from & 0x3ffff) >> 4) | 8ull << 16 | 8ull << 32 | 1ull << 46) : "memory"); }
D void mma_scaled(u d, ull a, ull b, u adds, u sa, u sb) { asm volatile("{ .reg .pred p; setp.ne.u32 p, %3, 0; tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X [%0], %1, %2, %6, [%4], [%5], p; }" :: "r"(d), "l"(a), "l"(b), "r"(adds), "r"(sa), "r"(sb), "r"(0x08840000u) : "memory"); }
extern "C" __global__ void k(float *out) {
  __shared__ alignas(128) char s[2][4096 + 512]; __shared__ alignas(128) u scales[2][2][128]; __shared__ alignas(8) ull done, copied[2], used; __shared__ u base;
  const int t = threadIdx.x;
  if (t == 0) { minit(smem(&done), 1); minit(smem(&copied[0]), 1); minit(smem(&copied[1]), 1); minit(smem(&used), 1); fence_init(); }
  if (t < 32) { alloc<64>(smem(&base)); relinquish(); }
  for (int i = t; i < 2 * 4608 / 4; i += blockDim.x) ((u *)s)[i] = 0x38383838;
  for (int i = t; i < 512; i += blockDim.x) ((u *)scales)[i] = i < 256 ? 0x7f7f7f7f : 0x80808080;
  fence_proxy();
  before(); __syncthreads(); after();
  if (t == 160 && BUG) {
    for (int n = 0; n < 2; n++) {
      if (n) mwait(smem(&used), 0);
      cp_scales(base + 16, smem(scales[n][0])); cp_scales(base + 20, smem(scales[n][1]));
      marrive(smem(&copied[n]));
    }
  }
  if (t == 128) {
    for (int n = 0; n < 2; n++) {
      if (BUG) mwait(smem(&copied[n]), 0);
      else { if (n) { mwait(smem(&used), 0); after(); } cp_scales(base + 16, smem(scales[n][0])); cp_scales(base + 20, smem(scales[n][1])); }
      mma_scaled(base, desc5(smem(s[n])), desc5(smem(s[n]) + 4096), n, base + 16, base + 20);
      if (n == 0) commit(smem(&used));
    }
    commit(smem(&done));
  }
  __syncwarp();
  if (t < 128) {
    mwait(smem(&done), 0); after();
    float v[16]; get(v, base); wait_ld();
    for (int i = 0; i < 16; i += 5) out[t * 4 + i / 5] = v[i];
    before(); named(1, 128);
    if (t < 32) dealloc<64>(base);
  }
}
