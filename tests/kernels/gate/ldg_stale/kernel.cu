// data written in the kernel is read through the read-only cache
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *x, unsigned *out) {
  if (threadIdx.x == 0) x[0] = 1;
  __syncthreads();
  if (threadIdx.x == 1) out[0] = BUG ? __ldg(x) : *(volatile unsigned *)x;
}
