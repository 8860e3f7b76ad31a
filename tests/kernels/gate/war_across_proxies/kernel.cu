// a tile is read, then loaded anew; buggy: without a fence between the reads and the async proxy
#include <cuda/ptx>
namespace ptx = cuda::ptx;
template <bool Fence> __device__ void load(uint64_t *bar, unsigned *s, const unsigned *src) {
  if (threadIdx.x == 0) {
    if (Fence) ptx::fence_proxy_async(ptx::space_shared);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, bar, 16);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, s, src, 16, bar);
  }
}
extern "C" __global__ void k(unsigned *src, unsigned *out) {
  __shared__ alignas(128) unsigned s[4];
  __shared__ alignas(8) uint64_t bar;
  if (threadIdx.x == 0) { ptx::mbarrier_init(&bar, 1); ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster); }
  __syncthreads();
  load<false>(&bar, s, src);
  while (!ptx::mbarrier_try_wait_parity(&bar, 0)) { }
  out[threadIdx.x] = s[threadIdx.x];
  __syncthreads();
  load<!BUG>(&bar, s, src + 4);
  while (!ptx::mbarrier_try_wait_parity(&bar, 1)) { }
  out[2 + threadIdx.x] = s[threadIdx.x];
}
