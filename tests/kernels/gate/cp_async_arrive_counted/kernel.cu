// copies arrive at an mbarrier that is made for them (noinc); buggy: an arrival that counts itself in
__device__ static inline unsigned smem(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void k(unsigned *g, unsigned *out) {
  __shared__ unsigned s[2];
  __shared__ alignas(8) unsigned long long bar;
  unsigned t = threadIdx.x, m = smem(&bar), ok;
  if (t == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 2;" :: "r"(m) : "memory");
  __syncthreads();
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(smem(s + t)), "l"(g + t) : "memory");
  if (BUG) asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" :: "r"(m) : "memory");
  else asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" :: "r"(m) : "memory");
  do asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(m) : "memory"); while (!ok);
  out[t] = s[1 - t];
}
