// cuda::ptx: a bulk copy from shared memory, after a fence between the proxies; buggy: without it
#include <cuda/ptx>
#include <cuda/barrier>
namespace ptx = cuda::ptx;
extern "C" __global__ void k(unsigned *g, unsigned *out) {
  __shared__ alignas(16) unsigned s[4];
  s[threadIdx.x] = g[threadIdx.x] + 1;
  if (!BUG) ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, s, sizeof(s));
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
  }
}
