// the same with seq_cst accesses; buggy: acquire and release
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *x, unsigned *y, unsigned *out) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> mine(blockIdx.x ? *y : *x), other(blockIdx.x ? *x : *y);
  mine.store(1, BUG ? cuda::memory_order_release : cuda::memory_order_seq_cst);
  out[blockIdx.x] = other.load(BUG ? cuda::memory_order_acquire : cuda::memory_order_seq_cst);
}
