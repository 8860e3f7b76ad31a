// a latch in global memory counted down by fetch_sub; buggy: counted down relaxed
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *x, unsigned *n, unsigned *out) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> count(*n);
  if (blockIdx.x < 2) { x[blockIdx.x] = blockIdx.x + 1; count.fetch_add(1, BUG ? cuda::memory_order_relaxed : cuda::memory_order_release); }
  else { while (count.load(cuda::memory_order_acquire) != 2) __nanosleep(100); out[0] = x[0] + x[1]; }
}
