// a bulk copy to both blocks of a cluster; buggy: block 1 does not expect its bytes
#include <cuda/atomic>
__device__ unsigned smem(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void minit(unsigned m, unsigned n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(m), "r"(n) : "memory"); }
__device__ void mwait(unsigned m, unsigned parity) { unsigned ok; do { asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(m), "r"(parity) : "memory"); } while (!ok); }
__device__ void mwaitc(unsigned m, unsigned parity) { unsigned ok; do { asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(m), "r"(parity) : "memory"); } while (!ok); }
__device__ void mexpect(unsigned m, unsigned n) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(m), "r"(n) : "memory"); }
__device__ void marrive(unsigned m) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(m) : "memory"); }

#include <cooperative_groups.h>
extern "C" __global__ void __cluster_dims__(2) k(unsigned *src, unsigned *out) {
  __shared__ alignas(16) unsigned s[4]; __shared__ unsigned long long bar;
  auto c = cooperative_groups::this_cluster();
  unsigned m = smem(&bar), r = c.block_rank();
  minit(m, 1); asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  if (BUG && r == 1) marrive(m); else mexpect(m, 16);
  c.sync();
  if (r == 0) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 16, [%2], %3;" :: "r"(smem(s)), "l"(src), "r"(m), "h"((short)3) : "memory");
  mwaitc(m, 0);
  out[r] = s[1];
  c.sync();
}
