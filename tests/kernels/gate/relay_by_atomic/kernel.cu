// a block releases 1, another one makes it 2 by a relaxed addition, which carries on what was released; buggy: by a relaxed store
#include <cuda/atomic>
using Ref = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;

extern "C" __global__ void k(unsigned *flag, unsigned *x, unsigned *out) {
  const unsigned t = threadIdx.x;
  Ref word(*flag);
  if (blockIdx.x == 0) {
    x[t] = 4;
    __syncthreads();
    if (t == 0) word.store(1, cuda::memory_order_release);
  } else if (blockIdx.x == 1) {
    if (t == 0) {
      while (word.load(cuda::memory_order_relaxed) != 1) { }
      if (BUG) word.store(2, cuda::memory_order_relaxed);
      else word.fetch_add(1, cuda::memory_order_relaxed);
    }
  } else {
    if (t == 0)
      while (word.load(cuda::memory_order_acquire) != 2) { }
    __syncthreads();
    out[t] = x[t];
  }
}
