// blocks of 64 threads publish partial sums; buggy: all fence before the barrier of the block, thread 0 counts behind it
#include <cuda/atomic>
#define FENCE() cuda::atomic_thread_fence(cuda::memory_order_acq_rel, cuda::thread_scope_device)
extern "C" __global__ void k(unsigned *part, unsigned *count, unsigned *out) {
  __shared__ bool last;
  unsigned t = threadIdx.x, b = blockIdx.x;
  part[64 * b + t] = 2 * b + t + 1;
  if (BUG) FENCE();
  __syncthreads();
  if (t == 0) {
    if (!BUG) FENCE();
    last = atomicAdd(count, 1u) == gridDim.x - 1;
    if (!BUG) FENCE();
  }
  __syncthreads();
  if (last) {
    if (BUG) FENCE();
    if (t < 2) out[t] = part[t] + part[64 + t];
  }
}
