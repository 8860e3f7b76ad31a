// two blocks reduce into global memory by bulk copies; buggy: no proxy fence before
#include <cuda/atomic>
__device__ unsigned smem(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void minit(unsigned m, unsigned n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(m), "r"(n) : "memory"); }
__device__ void mwait(unsigned m, unsigned parity) { unsigned ok; do { asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(m), "r"(parity) : "memory"); } while (!ok); }
__device__ void mwaitc(unsigned m, unsigned parity) { unsigned ok; do { asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(m), "r"(parity) : "memory"); } while (!ok); }
__device__ void mexpect(unsigned m, unsigned n) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(m), "r"(n) : "memory"); }
__device__ void marrive(unsigned m) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(m) : "memory"); }

extern "C" __global__ void k(unsigned *g) {
  __shared__ alignas(16) unsigned s[4];
  for (int i = 0; i < 4; ++i) s[i] = blockIdx.x + 1;
  if (!BUG) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], 16;" :: "l"(g), "r"(smem(s)) : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
