// tree reduction in shared memory; buggy: one __syncthreads is missing
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *out) {
  __shared__ unsigned s[4];
  unsigned t = threadIdx.x;
  s[t] = t + 1;
  __syncthreads();
  if (t < 2) s[t] += s[t + 2];
  if (!BUG) __syncthreads();
  if (t == 0) out[0] = s[0] + s[1];
}
