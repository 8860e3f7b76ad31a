#include "../common.h"
K k(u32* flag, u32* x, u32* y) {
  u32 t = threadIdx.x, b = blockIdx.x, i = b * 64 + t;
  x[i] = i + 1;
  __syncthreads();
  if (t == 0) {
    for (u32 r = 0; r < (BAD == 2 ? 2 : 3); r++) {
      gatom(flag[r * 8 + ((b + (1 << r)) & 7)]).store(1, BAD == 1 ? RLX : REL);
      while (!gatom(flag[r * 8 + b]).load(ACQ)) ;
    }
  }
  __syncthreads();
  y[i] = x[511 - i];
}
