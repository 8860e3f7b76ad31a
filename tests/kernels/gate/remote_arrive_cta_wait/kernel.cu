// another block of the cluster fills a shared word and arrives; buggy: the wait has the default scope, the block
#include <cooperative_groups.h>
#include <cuda/ptx>
namespace ptx = cuda::ptx;
namespace cg = cooperative_groups;
extern "C" __global__ void k(unsigned *in, unsigned *out) {
  __shared__ uint64_t bar; __shared__ unsigned word;
  auto c = cg::this_cluster();
  ptx::mbarrier_init(&bar, 1);
  c.sync();
  if (c.block_rank() == 1) {
    *c.map_shared_rank(&word, 0) = *in;
    ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster, c.map_shared_rank(&bar, 0));
  } else {
    if (BUG) while (!ptx::mbarrier_try_wait_parity(&bar, 0)) { }
    else while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &bar, 0)) { }
    *out = word;
  }
  c.sync();
}
