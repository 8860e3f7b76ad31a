#include <cuda/atomic>

using atomic = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;

extern "C" __global__ void exchange(unsigned *x, unsigned *count, unsigned *flag, unsigned *out) {
  x[blockIdx.x] = blockIdx.x + 1;
  __threadfence();
  if (atomic(*count).fetch_add(1, cuda::memory_order_relaxed) == gridDim.x - 1) {
    atomic(*flag).store(1, cuda::memory_order_relaxed);
  } else {
    while (atomic(*flag).load(cuda::memory_order_relaxed) == 0) {}
  }
  __threadfence();
  out[blockIdx.x] = x[1 - blockIdx.x];
}
