#include "../common.h"
K k(u32* buf, u32* full, u32* free, u32* out) {
  u32 t = threadIdx.x, b = blockIdx.x;
  for (u32 i = 0; i < 4; i++) {
    u32 v, s = i & 1;
    if (b == 0) v = i;
    else {
      if (t == 0) while (gatom(full[(b - 1) * 2 + s]).load(ACQ) != i + 1) ;
      __syncthreads();
      v = buf[((b - 1) * 2 + s) * 64 + t] + 1;
      __syncthreads();
      if (t == 0) gatom(free[(b - 1) * 2 + s]).store(i + 1, REL);
    }
    if (b == 3) out[i * 64 + t] = v;
    else {
      if (t == 0 && i >= 2 && BAD != 2) while (gatom(free[b * 2 + s]).load(ACQ) != i - 1) ;
      __syncthreads();
      buf[(b * 2 + s) * 64 + t] = v;
#if BAD != 1
      __syncthreads();
#endif
      if (t == 0) gatom(full[b * 2 + s]).store(i + 1, REL);
    }
  }
}
