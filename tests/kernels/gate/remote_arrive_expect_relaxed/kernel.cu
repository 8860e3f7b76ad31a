// a remote arrival that expects bytes; buggy: relaxed, while a plain store is to be seen too
#include <cuda/ptx>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
using u64 = unsigned long long;
__device__ inline void waitc(uint64_t *b, unsigned p = 0) { while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, b, p)) { } }
extern "C" __global__ void __cluster_dims__(2) k(unsigned *out) {
  __shared__ uint64_t bar; __shared__ alignas(16) u64 s[2]; __shared__ unsigned plain;
  auto c = cg::this_cluster(); unsigned r = c.block_rank(), t = threadIdx.x;
  if (t == 0) { ptx::mbarrier_init(&bar, 1); ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster); }
  c.sync();
  if (r == 0 && t == 0) {
    uint64_t *rb = c.map_shared_rank(&bar, 1); u64 *rs = c.map_shared_rank(s, 1);
    *c.map_shared_rank(&plain, 1) = 40;
#if BUG
    ptx::mbarrier_arrive_expect_tx(ptx::sem_relaxed, ptx::scope_cluster, ptx::space_cluster, rb, 16);
#else
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster, rb, 16);
#endif
    u64 v[2] = {3, 4};
    ptx::st_async(rs, v, rb);
  }
  if (r == 1) { waitc(&bar); if (t == 0) out[blockIdx.x / 2] = (unsigned)(s[0] + s[1]) + plain; }
  c.sync();
}
