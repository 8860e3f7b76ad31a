// exchange through shared memory in a warp; buggy: no __syncwarp
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *out) {
  __shared__ volatile unsigned s[2];
  unsigned t = threadIdx.x;
  s[t] = t + 1;
  if (!BUG) __syncwarp(3);
  out[t] = s[1 - t];
}
