// the memory of an mbarrier is used for other data afterwards; buggy: without invalidating it
__device__ static inline unsigned smem(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void k(unsigned *src, unsigned *out) {
  __shared__ alignas(16) unsigned s[4];
  __shared__ alignas(8) unsigned m[2];
  unsigned t = threadIdx.x, ok;
  if (t == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(smem(m)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 16;" :: "r"(smem(m)) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 16, [%2];" :: "r"(smem(s)), "l"(src), "r"(smem(m)) : "memory");
  }
  __syncthreads();
  do asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(smem(m)) : "memory"); while (!ok);
  unsigned v = s[t] + s[t + 2];
  __syncthreads();
  if (!BUG && t == 0) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" :: "r"(smem(m)) : "memory");
  __syncthreads();
  m[t] = v + 1 + (t == 0);
  __syncthreads();
  out[t] = m[1 - t] - (t == 0) + (t == 1) * 2;
}
