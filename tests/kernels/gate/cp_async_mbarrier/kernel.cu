// cp.async that arrives at an mbarrier; buggy: the others wait at a block barrier instead
#include <cuda/atomic>
__device__ unsigned smem(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void k(unsigned *g, unsigned *out) {
  __shared__ unsigned s[2]; __shared__ unsigned long long bar;
  unsigned t = threadIdx.x, m = smem(&bar);
  if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 2;" :: "r"(m) : "memory");
  __syncthreads();
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(smem(&s[t])), "l"(g + t) : "memory");
  if (!BUG) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(m) : "memory");
    unsigned ok; do { asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(m) : "memory"); } while (!ok);
  } else __syncthreads();
  out[t] = s[1 - t];
}
