// a thread of the other block arrives at the mbarrier; buggy: of block scope
#include <cuda/atomic>
__device__ unsigned smem(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void minit(unsigned m, unsigned n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(m), "r"(n) : "memory"); }
__device__ void mwait(unsigned m, unsigned parity) { unsigned ok; do { asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(m), "r"(parity) : "memory"); } while (!ok); }
__device__ void mwaitc(unsigned m, unsigned parity) { unsigned ok; do { asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(m), "r"(parity) : "memory"); } while (!ok); }
__device__ void mexpect(unsigned m, unsigned n) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(m), "r"(n) : "memory"); }
__device__ void marrive(unsigned m) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(m) : "memory"); }

#include <cooperative_groups.h>
extern "C" __global__ void __cluster_dims__(2) k(unsigned *out) {
  __shared__ unsigned s; __shared__ unsigned long long bar;
  auto c = cooperative_groups::this_cluster();
  unsigned m = smem(&bar), r = c.block_rank();
  if (r == 0) { minit(m, 1); asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
  c.sync();
  if (r == 1) {
    *c.map_shared_rank(&s, 0) = 9;
    unsigned rm;
    asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(rm) : "r"(m));
    if (BUG) asm volatile("mbarrier.arrive.release.cta.shared::cluster.b64 _, [%0];" :: "r"(rm) : "memory");
    else asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(rm) : "memory");
  } else { mwaitc(m, 0); out[0] = s; }
  c.sync();
}
