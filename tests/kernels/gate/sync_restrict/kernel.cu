// a relaxed arrival and a relaxed wait between fences that are about shared memory only; buggy: none where it is waited
#include <cooperative_groups.h>
#include <cuda/ptx>
namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
extern "C" __global__ void k(unsigned *out, unsigned n) {
  __shared__ uint64_t bar;
  __shared__ unsigned x;
  auto cluster = cg::this_cluster();
  x = 0;
  ptx::mbarrier_init(&bar, 1);
  ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  cluster.sync();
  if (cluster.block_rank() == 0) {
    x = n;
    ptx::fence_sync_restrict(ptx::sem_release, ptx::space_shared, ptx::scope_cluster);
    ptx::mbarrier_arrive(ptx::sem_relaxed, ptx::scope_cluster, ptx::space_cluster, cluster.map_shared_rank(&bar, 1));
  } else {
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_relaxed, ptx::scope_cluster, &bar, 0)) {}
    if (!BUG) ptx::fence_sync_restrict(ptx::sem_acquire, ptx::space_cluster, ptx::scope_cluster);
    out[1] = *cluster.map_shared_rank(&x, 0);
  }
  cluster.sync();
}
