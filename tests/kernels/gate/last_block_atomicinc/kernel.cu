// threadfence reduction; buggy: no fence before the counter
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *part, unsigned *count, unsigned *out) {
  part[blockIdx.x] = blockIdx.x + 1;
  if (!BUG) __threadfence();
  if (atomicInc(count, gridDim.x) == gridDim.x - 1) { __threadfence(); out[0] = part[0] + part[1]; }
}
