// cuda::barrier of device scope in global memory is not initialised here; a counter barrier by fetch_add; buggy: relaxed arrival
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *x, unsigned *n, unsigned *out) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> count(*n);
  x[blockIdx.x] = blockIdx.x + 1;
  count.fetch_add(1, BUG ? cuda::memory_order_relaxed : cuda::memory_order_acq_rel);
  while (count.load(cuda::memory_order_acquire) != 2) {}
  out[blockIdx.x] = x[1 - blockIdx.x];
}
