#include <cuda/atomic>

using atomic = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;

extern "C" __global__ void arrive(unsigned *x, unsigned *flag, unsigned *out) {
  unsigned t = threadIdx.x;
  if (blockIdx.x == 1) {
    x[t] = t + 1;
    __syncthreads();
    if (t == 0) atomic(*flag).store(1, cuda::memory_order_relaxed);
  } else {
    if (t == 0) while (atomic(*flag).load(cuda::memory_order_acquire) == 0) {}
    __syncthreads();
    out[t] = x[t];
  }
}
