// a ring of two stages in dynamic shared memory with its mbarriers behind it; buggy: the tile is used before it is full
struct Shared { unsigned tile[2][4]; unsigned long long full[2], empty[2]; };
__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ bool try_wait(unsigned m, unsigned parity) { unsigned ok; asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(m), "r"(parity) : "memory"); return ok; }
extern "C" __global__ void k(const unsigned *src, unsigned *out, unsigned n) {
  extern __shared__ __align__(16) unsigned char raw[];
  Shared &s = *reinterpret_cast<Shared *>(raw);
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) { asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at(&s.full[i])) : "memory"); asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at(&s.empty[i])) : "memory"); }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  unsigned stage = 0, phase = 0;
  for (unsigned i = 0; i < n; ++i) {
    if (threadIdx.x == 1) {
      while (!try_wait(at(&s.empty[stage]), phase ^ 1)) { }
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(at(&s.full[stage])), "r"(16) : "memory");
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"(at(s.tile[stage])), "l"(src + 4 * i), "r"(16), "r"(at(&s.full[stage])) : "memory");
    } else {
      if (!BUG) while (!try_wait(at(&s.full[stage]), phase)) { }
      out[i] = s.tile[stage][0];
      asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(at(&s.empty[stage])) : "memory");
    }
    if (++stage == 2) { stage = 0; phase ^= 1; }
  }
}
