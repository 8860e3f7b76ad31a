#include "../common.h"
K k(const u32* x, u32* out) {
  __shared__ __align__(16) u32 s[2][512];
  u32 t = threadIdx.x, sum = 0; const u32* src = x + blockIdx.x * 4096;
  cp16(&s[0][t * 4], src + t * 4); cp_commit();
  for (int i = 0; i < 8; i++) {
    if (i + 1 < 8) cp16(&s[(i + 1) & 1][t * 4], src + (i + 1) * 512 + t * 4);
    cp_commit();
    cp_wait<BAD == 1 ? 2 : 1>();
    __syncthreads();
    u32 u = 127 - t;
    sum += s[i & 1][u * 4] + s[i & 1][u * 4 + 1] + s[i & 1][u * 4 + 2] + s[i & 1][u * 4 + 3];
#if BAD != 2
    __syncthreads();
#endif
  }
  out[blockIdx.x * 128 + t] = sum;
}
