// two threads raise a flag and look at the other's; buggy: acq_rel fences where seq_cst is needed
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *x, unsigned *y, unsigned *out) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> mine(blockIdx.x ? *y : *x), other(blockIdx.x ? *x : *y);
  mine.store(1, cuda::memory_order_relaxed);
  cuda::atomic_thread_fence(BUG ? cuda::memory_order_acq_rel : cuda::memory_order_seq_cst, cuda::thread_scope_device);
  out[blockIdx.x] = other.load(cuda::memory_order_relaxed);
}
