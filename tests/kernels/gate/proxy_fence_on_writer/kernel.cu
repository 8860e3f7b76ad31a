// the fence between the proxies stands in the writing block; fixed: in the loading one
#include <cuda/ptx>
#include <cuda/atomic>
namespace ptx = cuda::ptx;
__device__ inline void wait0(uint64_t *b) { while (!ptx::mbarrier_try_wait_parity(b, 0)) { } }
extern "C" __global__ void k(unsigned *g, unsigned *flag, unsigned *out) {
  __shared__ alignas(16) unsigned s[4]; __shared__ uint64_t bar;
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> f(*flag);
  if (blockIdx.x == 0) {
    for (int i = 0; i < 4; ++i) g[i] = 5 + i;
    if (BUG) ptx::fence_proxy_async();
    f.store(1, cuda::memory_order_release);
  } else {
    ptx::mbarrier_init(&bar, 1); ptx::fence_proxy_async(ptx::space_shared);
    while (!f.load(cuda::memory_order_acquire)) { }
    if (!BUG) ptx::fence_proxy_async();
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, 16);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, s, g, 16, &bar);
    wait0(&bar);
    out[0] = s[3];
  }
}
