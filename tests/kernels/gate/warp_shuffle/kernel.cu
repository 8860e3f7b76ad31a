// warp reduction by shuffles; buggy: one step too few
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *out) {
  unsigned v = threadIdx.x + 1;
  v += __shfl_down_sync(15, v, 2);
  if (!BUG) v += __shfl_down_sync(15, v, 1);
  if (threadIdx.x == 0) out[0] = v;
}
