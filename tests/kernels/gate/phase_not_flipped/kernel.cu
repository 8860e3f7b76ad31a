// the parity flips with each tile; buggy: the second tile is waited for with the first one's parity
#include <cuda/ptx>
namespace ptx = cuda::ptx;
extern "C" __global__ void k(unsigned *src, unsigned *out) {
  __shared__ alignas(16) unsigned s[4];
  __shared__ uint64_t bar;
  ptx::mbarrier_init(&bar, 1);
  ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  unsigned phase = 0;
  for (int i = 0; i < 2; ++i) {
    ptx::fence_proxy_async(ptx::space_shared);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, 16);
    ptx::cp_async_bulk(ptx::space_shared, ptx::space_global, s, src + 4 * i, 16, &bar);
    while (!ptx::mbarrier_try_wait_parity(&bar, phase)) { }
    if (!BUG) phase ^= 1;
    out[i] = s[0];
  }
}
