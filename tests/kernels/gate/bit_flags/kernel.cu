// three blocks set a bit each, another one waits for all; buggy: for any
#include <cuda/atomic>
using Ref = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;

extern "C" __global__ void k(unsigned *mask, unsigned *x, unsigned *out) {
  const unsigned t = threadIdx.x, b = blockIdx.x;
  if (b > 0) {
    x[b * 64 + t] = 1;
    __syncthreads();
    if (t == 0) Ref(*mask).fetch_or(1u << (b - 1), cuda::memory_order_release);
    return;
  }
  if (t == 0) {
    unsigned seen;
    do seen = Ref(*mask).load(cuda::memory_order_acquire) & 7;
    while (BUG ? seen == 0 : seen != 7);
  }
  __syncthreads();
  out[t] = x[64 + t] + x[128 + t] + x[192 + t];
}
