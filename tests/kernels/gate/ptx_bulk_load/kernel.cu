// cuda::ptx: a bulk copy to shared memory, awaited at an mbarrier; buggy: nobody waits
#include <cuda/ptx>
#include <cuda/barrier>
namespace ptx = cuda::ptx;
extern "C" __global__ void k(unsigned *g, unsigned *out) {
  __shared__ alignas(16) unsigned s[4]; __shared__ uint64_t bar;
  if (threadIdx.x == 0) { ptx::mbarrier_init(&bar, 1); ptx::fence_proxy_async(ptx::space_shared); }
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, sizeof(s));
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, s, g, sizeof(s), &bar);
  }
  if (!BUG) while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {}
  out[threadIdx.x] = s[threadIdx.x];
}
