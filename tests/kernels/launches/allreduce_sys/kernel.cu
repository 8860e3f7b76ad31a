#include "../common.h"
K k(u32* in, u32* flag, u32* out) {
  u32 t = threadIdx.x, r = blockIdx.x;
  in[r * 128 + t] = 3 + 0 * in[r * 128 + t];
  __syncthreads();
  if (t < 4) {
    satom(flag[t * 4 + r]).store(1, BAD == 1 ? RLX : REL);
    while (satom(flag[r * 4 + t]).load(ACQ) != 1) ;
  }
#if BAD != 2
  __syncthreads();
#endif
  u32 s = 0; for (u32 p = 0; p < (BAD == 3 ? 4u : 4u); p++) s += in[p * 128 + t];
#if BAD == 3
  in[r * 128 + t] = s;
#endif
  out[r * 128 + t] = s;
}
