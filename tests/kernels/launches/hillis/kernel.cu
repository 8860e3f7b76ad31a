#include "../common.h"
K k(const u32* x, u32* out) {
  __shared__ u32 s[2][256]; u32 t = threadIdx.x, p = 0;
  s[0][t] = x[blockIdx.x * 256 + t]; __syncthreads();
  for (u32 d = 1; d < 256; d <<= 1) {
    u32 v = s[p][t] + (t >= d ? s[p][t - d] : 0);
#if BAD == 1
    s[p][t] = v;
#else
    p ^= 1; s[p][t] = v;
#endif
    __syncthreads();
  }
  out[blockIdx.x * 256 + t] = s[p][t];
}
