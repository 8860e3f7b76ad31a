// backoff spin with growing sleeps on a lock in shared memory of one block; buggy: plain unlock
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *out) {
  __shared__ unsigned l, x;
  if (threadIdx.x == 0) { l = 0; x = 0; }
  __syncthreads();
  unsigned ns = 8;
  while (atomicCAS_block(&l, 0, 1)) { __nanosleep(ns); if (ns < 256) ns *= 2; }
  __threadfence_block();
  x = x + 1;
  if (!BUG) __threadfence_block();
  if (BUG) l = 0; else atomicExch_block(&l, 0);
  __syncthreads();
  if (threadIdx.x == 0) out[0] = x;
}
