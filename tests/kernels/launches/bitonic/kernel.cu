#include "../common.h"
K k(const u32* x, u32* out) {
  __shared__ u32 s[512]; u32 t = threadIdx.x;
  s[t] = x[t]; s[t + 256] = x[t + 256]; 
  for (u32 size = 2; size <= 512; size <<= 1)
    for (u32 d = size / 2; d; d >>= 1) {
#if BAD == 1
      if (d >= 32 || d == size / 2)
#endif
      __syncthreads();
      u32 a = 2 * t - (t & (d - 1)), b = a + d; bool up = (a & size) == 0;
      u32 u = s[a], v = s[b];
      if ((u > v) == up) { s[a] = v; s[b] = u; }
    }
  __syncthreads();
  out[t] = s[t]; out[t + 256] = s[t + 256];
}
