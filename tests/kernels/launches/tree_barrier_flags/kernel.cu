#include "../common.h"
K k(u32* up, u32* go, u32* x, u32* y) {
  u32 t = threadIdx.x, b = blockIdx.x, i = b * 64 + t;
  x[i] = i + 1; __syncthreads();
  if (t == 0) {
    for (u32 d = 1; d < 8; d <<= 1) if (!(b & (2 * d - 1)) ) while (!gatom(up[b + d]).load(ACQ)) ; else break;
    if (b) { gatom(up[b]).store(1, BAD == 1 ? RLX : REL); while (!gatom(*go).load(BAD == 2 ? RLX : ACQ)) ; }
    else gatom(*go).store(1, REL);
  }
  __syncthreads();
  y[i] = x[511 - i];
}
