#include "../common.h"
// the first warp leader of a CTA sets it up, all use it behind a barrier
K k(u32* out) {
  __shared__ u32 once, table[4];
  u32 t = threadIdx.x;
  if (t == 0) once = 0;
  __syncthreads();
  if ((t & 31) == 0 && atomicCAS(&once, 0, 1) == 0) {
    for (u32 i = 0; i < 4; i++) table[i] = BAD == 2 ? t : 10 + i;
  }
#if BAD != 1
  __syncthreads();
#endif
  out[blockIdx.x * 256 + t] = table[t & 3];
}
