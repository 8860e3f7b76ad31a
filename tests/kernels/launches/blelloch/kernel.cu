#include "../common.h"
K k(const u32* x, u32* out) {
  __shared__ u32 s[512]; u32 t = threadIdx.x;
  s[2 * t] = x[2 * t]; s[2 * t + 1] = x[2 * t + 1];
  u32 off = 1;
  for (u32 d = 256; d; d >>= 1) {
    __syncthreads();
    if (t < d) s[off * (2 * t + 2) - 1] += s[off * (2 * t + 1) - 1];
    off <<= 1;
  }
#if BAD == 2
  if (t == 1) s[511] = 0;
#else
  if (t == 0) s[511] = 0;
#endif
  for (u32 d = 1; d < 512; d <<= 1) {
    off >>= 1;
#if BAD == 1
    if (off > 4)
#endif
    __syncthreads();
    if (t < d) { u32 a = off * (2 * t + 1) - 1, b = off * (2 * t + 2) - 1, v = s[a]; s[a] = s[b]; s[b] += v; }
  }
  __syncthreads();
  out[2 * t] = s[2 * t]; out[2 * t + 1] = s[2 * t + 1];
}
