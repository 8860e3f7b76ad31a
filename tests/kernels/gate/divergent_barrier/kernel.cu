// a barrier that only some threads reach
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *out) {
  __shared__ unsigned s;
  if (threadIdx.x == 0) s = 1;
  if (BUG) { if (threadIdx.x < 32) asm volatile("barrier.sync 0, 64;" ::: "memory"); }
  else __syncthreads();
  if (threadIdx.x == 0) out[0] = s;
}
