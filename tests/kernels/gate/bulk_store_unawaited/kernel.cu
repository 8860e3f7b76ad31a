// the tile of a bulk store has been read when the kernel ends; buggy: nobody waits, and the shared memory may be gone
#include <cuda/ptx>
namespace ptx = cuda::ptx;
extern "C" __global__ void k(unsigned *x, unsigned n) {
  __shared__ alignas(16) unsigned tile[4];
  for (int i = 0; i < 4; i++) tile[i] = n + i;
  ptx::fence_proxy_async(ptx::space_shared);
  ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, x, tile, 16);
  ptx::cp_async_bulk_commit_group();
  if (!BUG) ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
}
