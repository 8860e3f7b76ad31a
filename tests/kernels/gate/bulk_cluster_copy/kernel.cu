// a tile is copied into the shared memory of the other block, whose mbarrier counts the bytes: it waits at cluster scope, or (BLOCK) at block scope; buggy: the wait is relaxed
#include <cooperative_groups.h>
#include <cuda/ptx>
namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
extern "C" __global__ void k(unsigned *out, unsigned n) {
  __shared__ uint64_t bar;
  __shared__ alignas(16) unsigned from[4], to[4];
  auto cluster = cg::this_cluster();
  if (cluster.block_rank() == 1) {
    ptx::mbarrier_init(&bar, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, 16);
  } else {
    for (int i = 0; i < 4; i++) from[i] = n;
    ptx::fence_proxy_async(ptx::space_shared);
  }
  cluster.sync();
  if (cluster.block_rank() == 0)
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_shared, cluster.map_shared_rank(to, 1), from, 16, cluster.map_shared_rank(&bar, 1));
  else {
    if (BLOCK) while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cta, &bar, 0)) {}
    else if (BUG) while (!ptx::mbarrier_try_wait_parity(ptx::sem_relaxed, ptx::scope_cta, &bar, 0)) {}
    else while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &bar, 0)) {}
    out[1] = to[2];
  }
  cluster.sync();
}
