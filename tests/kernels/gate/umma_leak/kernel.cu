// two allocations, both given back; buggy: one of them is not
typedef unsigned u; typedef unsigned long long ull;
#define D static __device__ __forceinline__
// Two small numbers, powers of two so that each sum of products is exact: another pair for nearly each i.
D u ints(u i) { return 0x3c003c00 + (i * 0x9e3779b1u >> 30 << 10) + (i * 0x85ebca6bu >> 30 << 26); }
D u smem(const void *p) { return (u)__cvta_generic_to_shared(p); }
D void minit(u m, u n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(m), "r"(n) : "memory"); }
D void fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
D void mwait(u m, u parity) { u ok; do { asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(m), "r"(parity) : "memory"); } while (!ok); }
D void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
D ull desc(u at) { return (ull)((at & 0x3ffff) >> 4) | 8ull << 16 | 16ull << 32 | 1ull << 46; }
template<int N> D void alloc(u to) { asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" :: "r"(to), "n"(N) : "memory"); }
template<int N> D void dealloc(u t) { asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" :: "r"(t), "n"(N) : "memory"); }
D void relinquish() { asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::: "memory"); }
D void before() { asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }
D void after() { asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }
D void commit(u m) { asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" :: "r"(m) : "memory"); }
D void mma(u d, u a, u b, u adds) { asm volatile("{ .reg .pred p; setp.ne.u32 p, %3, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, 0x8040010, p; }" :: "r"(d), "l"(desc(a)), "l"(desc(b)), "r"(adds) : "memory"); }
D u lanes(u t) { return t + ((threadIdx.x & 96) << 16); }
D void get(float (&v)[16], u t) { asm volatile("tcgen05.ld.sync.aligned.32x32b.x16.b32 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, [%16];" : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3]), "=f"(v[4]), "=f"(v[5]), "=f"(v[6]), "=f"(v[7]), "=f"(v[8]), "=f"(v[9]), "=f"(v[10]), "=f"(v[11]), "=f"(v[12]), "=f"(v[13]), "=f"(v[14]), "=f"(v[15]) : "r"(lanes(t)) : "memory"); }
D void wait_ld() { asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory"); }
D void put(float *out, const float (&v)[16]) { for (int i = 0; i < 16; i += 5) out[(threadIdx.x & 127) * 4 + i / 5] = v[i]; }

extern "C" __global__ void k(float *out) {
  __shared__ alignas(128) u a[1024], b[128]; __shared__ alignas(8) ull done; __shared__ u base, more;
  const int t = threadIdx.x;
  for (int i = t; i < 1024; i += 128) a[i] = ints(i);
  b[t] = ints(1024 + t);
  if (t == 0) { minit(smem(&done), 1); fence_init(); }
  if (t < 32) { alloc<64>(smem(&more)); alloc<32>(smem(&base)); relinquish(); }
  fence_async();
  __syncthreads();
  if (t == 0) { after(); mma(base, smem(a), smem(b), 0); commit(smem(&done)); }
  mwait(smem(&done), 0);
  after();
  float v[16];
  get(v, base); wait_ld();
  put(out, v);
  before();
  __syncthreads();
  if (t < 32) { dealloc<32>(base); if (!BUG) dealloc<64>(more); }
}
