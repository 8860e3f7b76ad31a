// two blocks reduce into the same tile by bulk copies of several kinds; buggy: one of them stores
#include <cuda/ptx>
namespace ptx = cuda::ptx;
extern "C" __global__ void k(unsigned *inc, unsigned *mx, unsigned *x, uint64_t *d) {
  __shared__ alignas(16) unsigned s[4]; __shared__ alignas(16) uint64_t w[2];
  if (threadIdx.x == 0) {
    for (int i = 0; i < 4; ++i) s[i] = 9; w[0] = w[1] = 2;
    ptx::fence_proxy_async(ptx::space_shared);
    ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_inc, inc, s, 16);
    if (BUG && blockIdx.x) ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, mx, s, 16);
    else ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_max, mx, s, 16);
    ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_xor_op, x, s, 16);
    ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, d, w, 16);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>{});
  }
}
