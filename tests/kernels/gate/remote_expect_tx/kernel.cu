// another block expects the bytes at a remote mbarrier, stores four words and arrives; buggy: it arrives before it expects
#include <cuda/ptx>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
__device__ inline void waitc(uint64_t *b, unsigned p = 0) { while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, b, p)) { } }
extern "C" __global__ void __cluster_dims__(2) k(unsigned *out) {
  __shared__ uint64_t bar; __shared__ alignas(16) unsigned s[4];
  auto c = cg::this_cluster(); unsigned r = c.block_rank(), t = threadIdx.x;
  if (t == 0) { ptx::mbarrier_init(&bar, 1); ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster); }
  c.sync();
  if (r == 0 && t == 0) {
    uint64_t *rb = c.map_shared_rank(&bar, 1); unsigned *rs = c.map_shared_rank(s, 1);
    if (BUG) ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster, rb);
    ptx::mbarrier_expect_tx(ptx::sem_relaxed, ptx::scope_cluster, ptx::space_cluster, rb, 16);
    unsigned v[4] = {1, 2, 3, 4};
    ptx::st_async(rs, v, rb);
    if (!BUG) ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster, rb);
  }
  if (r == 1) { waitc(&bar); if (t == 0) out[blockIdx.x / 2] = s[0] + s[1] + s[2] + s[3]; }
  c.sync();
}
