// libcu++ barrier_arrive_tx with cuda::device::memcpy_async_tx; buggy: nobody waits
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/ptx>
#pragma nv_diag_suppress static_var_with_dynamic_init
extern "C" __global__ void k(unsigned *src, unsigned *out) {
  __shared__ alignas(16) unsigned s[4];
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  if (threadIdx.x == 0) { init(&bar, blockDim.x); cuda::ptx::fence_proxy_async(cuda::ptx::space_shared); }
  __syncthreads();
  cuda::barrier<cuda::thread_scope_block>::arrival_token token;
  if (threadIdx.x == 0) {
    cuda::device::memcpy_async_tx(s, src, cuda::aligned_size_t<16>(16), bar);
    token = cuda::device::barrier_arrive_tx(bar, 1, 16);
  } else token = bar.arrive(1);
  if (!BUG) bar.wait(static_cast<cuda::barrier<cuda::thread_scope_block>::arrival_token &&>(token));
  if (threadIdx.x == 1) out[0] = s[2];
}
