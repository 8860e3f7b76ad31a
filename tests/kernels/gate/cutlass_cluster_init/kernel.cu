// reported, but no bug: mbarriers are published to the cluster by fence.mbarrier_init and a relaxed arrival; buggy: by the arrival alone
#include <cooperative_groups.h>
#include <cuda/ptx>
namespace ptx = cuda::ptx;
extern "C" __global__ void k(unsigned *out) {
  __shared__ uint64_t bar;
  unsigned rank = ptx::get_sreg_cluster_ctarank();
  ptx::mbarrier_init(&bar, 1);
  if (!BUG) ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  ptx::barrier_cluster_arrive(ptx::sem_relaxed);
  ptx::barrier_cluster_wait();
  uint64_t *other = cooperative_groups::this_cluster().map_shared_rank(&bar, rank ^ 1);
  ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster, other);
  while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &bar, 0)) { }
  out[rank] = 1;
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
}
