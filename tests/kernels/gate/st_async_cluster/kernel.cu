// st.async to the other block with its mbarrier; buggy: reads without waiting
#include <cuda/atomic>
#include <cooperative_groups.h>
__device__ unsigned smem(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void __cluster_dims__(2) k(unsigned *out) {
  __shared__ unsigned s; __shared__ unsigned long long bar;
  auto c = cooperative_groups::this_cluster();
  unsigned m = smem(&bar), r = c.block_rank();
  if (r == 1) { asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(m) : "memory"); asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 4;" :: "r"(m) : "memory"); }
  c.sync();
  if (r == 0) {
    unsigned rs, rm;
    asm volatile("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(rs) : "r"(smem(&s)));
    asm volatile("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(rm) : "r"(m));
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" :: "r"(rs), "r"(77), "r"(rm) : "memory");
  } else {
    if (!BUG) { unsigned ok; do { asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(m) : "memory"); } while (!ok); }
    out[0] = s;
  }
  c.sync();
}
