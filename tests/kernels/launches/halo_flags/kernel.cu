#include "../common.h"
K k(u32* a, u32* b, u32* step) {
  u32 t = threadIdx.x, B = blockIdx.x, i = B * 128 + t; u32 *p = a, *q = b;
  for (u32 it = 1; it <= 4; it++) {
    u32 l = i ? p[i - 1] : p[0], r = i < 511 ? p[i + 1] : p[511];
    q[i] = (l + p[i] + r) / 3;
#if BAD != 1
    __syncthreads();
#endif
    if (t == 0) gatom(step[B]).store(it, REL);
    if (t == 0 && B > 0) while (gatom(step[B - 1]).load(ACQ) < it) ;
    if (t == (BAD == 2 ? 0 : 32) && B < 3 && !(BAD == 2 && it == 3)) while (gatom(step[B + 1]).load(ACQ) < it) ;
    __syncthreads();
    u32* x = p; p = q; q = x;
  }
}
