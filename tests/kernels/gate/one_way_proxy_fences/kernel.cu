// a word written by its block is overwritten by a bulk copy of the other: one-way proxy fences; buggy: no acquiring one
#include <cuda/ptx>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
__device__ inline void waitc(uint64_t *b, unsigned p = 0) { while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, b, p)) { } }
extern "C" __global__ void __cluster_dims__(2) k(unsigned *out) {
  __shared__ uint64_t full, empty; __shared__ alignas(16) unsigned s[4], src[4];
  auto c = cg::this_cluster(); unsigned r = c.block_rank(), t = threadIdx.x;
  if (t == 0) { ptx::mbarrier_init(&full, 1); ptx::mbarrier_init(&empty, 1); ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster); }
  c.sync();
  if (t == 0 && r == 1) {
    s[0] = 1; s[1] = 1; s[2] = 1; s[3] = 1;
    ptx::mbarrier_arrive_expect_tx(ptx::sem_relaxed, ptx::scope_cta, ptx::space_shared, &full, 16);
    ptx::fence_proxy_async_generic_sync_restrict(ptx::sem_release, ptx::space_shared, ptx::scope_cluster);
    ptx::mbarrier_arrive(ptx::sem_relaxed, ptx::scope_cluster, ptx::space_cluster, c.map_shared_rank(&empty, 0));
    waitc(&full);
    out[blockIdx.x / 2] = s[3];
  }
  if (t == 0 && r == 0) {
    for (int i = 0; i < 4; ++i) src[i] = i;
    ptx::fence_proxy_async(ptx::space_shared);
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_relaxed, ptx::scope_cluster, &empty, 0)) { }
    if (!BUG) ptx::fence_proxy_async_generic_sync_restrict(ptx::sem_acquire, ptx::space_cluster, ptx::scope_cluster);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_shared, c.map_shared_rank(s, 1), src, 16, c.map_shared_rank(&full, 1));
  }
  c.sync();
}
