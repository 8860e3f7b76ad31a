// reductions of all kinds into the other block; buggy: the bytes of one are not expected
#include <cuda/ptx>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
using u64 = unsigned long long;
__device__ inline void waitc(uint64_t *b, unsigned p = 0) { while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, b, p)) { } }
extern "C" __global__ void __cluster_dims__(2) k(unsigned *out) {
  __shared__ uint64_t bar; __shared__ unsigned s[8]; __shared__ u64 w;
  auto c = cg::this_cluster(); unsigned r = c.block_rank(), t = threadIdx.x;
  if (t == 0) {
    ptx::mbarrier_init(&bar, 1); ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    s[0] = 4; s[1] = 3; s[2] = 8; s[3] = 10; s[4] = 5; w = 1;
    if (r == 1) ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cluster, ptx::space_shared, &bar, BUG ? 24 : 28);
  }
  c.sync();
  if (r == 0 && t == 0) {
    uint64_t *rb = c.map_shared_rank(&bar, 1); unsigned *rs = c.map_shared_rank(s, 1);
    ptx::red_async(ptx::op_inc, rs, 9u, rb);
    ptx::red_async(ptx::op_dec, rs + 1, 9u, rb);
    ptx::red_async(ptx::op_or_op, rs + 2, 4u, rb);
    ptx::red_async(ptx::op_xor_op, rs + 3, 3u, rb);
    ptx::red_async(ptx::op_min, rs + 4, 0u, rb);
    ptx::red_async(ptx::op_add, (uint64_t *)c.map_shared_rank(&w, 1), (uint64_t)2, rb);
  }
  if (r == 1) { waitc(&bar); if (t == 0 && blockIdx.x == 1) { for (int i = 0; i < 5; ++i) out[i] = s[i]; out[5] = (unsigned)w; } }
  c.sync();
}
