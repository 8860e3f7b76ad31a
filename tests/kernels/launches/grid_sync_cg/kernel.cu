#include "../common.h"
// a grid barrier of our own: arrive by an addition of one bit, the master of the grid adds the rest
DEV void grid_sync(u32* bar) {
  __syncthreads();
  if (threadIdx.x == 0) {
    u32 n = blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1;
#if BAD != 1
    __threadfence();
#endif
    u32 old = atomicAdd(bar, n);
    while ((((*(volatile u32*)bar) ^ old) & 0x80000000u) == 0) ;
#if BAD != 2
    __threadfence();
#endif
  }
  __syncthreads();
}
K k(u32* x, u32* y, u32* ws) {
  u32 i = blockIdx.x * 256 + threadIdx.x, n = gridDim.x * 256;
  x[i] = i + 1; grid_sync(ws);
  u32 v = x[n - 1 - i]; grid_sync(ws);
  x[i] = v; grid_sync(ws);
  y[i] = x[i];
}
