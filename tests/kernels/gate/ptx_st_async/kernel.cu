// cuda::ptx: st.async to the other block of the cluster; buggy: no wait
#include <cuda/ptx>
#include <cuda/barrier>
namespace ptx = cuda::ptx;
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void __cluster_dims__(2,1,1) k(unsigned *out) {
  __shared__ int32_t s; __shared__ uint64_t bar;
  auto c = cg::this_cluster();
  if (threadIdx.x == 0) { s = 0; ptx::mbarrier_init(&bar, 1); ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, 4); }
  c.sync();
  unsigned r = c.block_rank();
  ptx::st_async(c.map_shared_rank(&s, r ^ 1), (int32_t)(r + 3), c.map_shared_rank(&bar, r ^ 1));
  if (!BUG) while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &bar, 0)) {}
  out[r] = s;
  c.sync();
}
