#include "../common.h"
// the next tile is fetched while one is done, into one of two slots by turns; the first one is that of the block
K k(u32* next, u32* x, u32 n) {
  __shared__ u32 slot[2];
  u32 t = threadIdx.x, turn = 0, tile = blockIdx.x;
  if (tile < n) do {
    if (t == 0) slot[turn] = (BAD == 3 ? 0 : gridDim.x) + atomicAdd(next, 1);
    x[tile * blockDim.x + t] += tile + 1;
#if BAD != 1
    __syncthreads();
#endif
    tile = slot[turn];
#if BAD != 2
    turn ^= 1;
#endif
  } while (tile < n);
}
