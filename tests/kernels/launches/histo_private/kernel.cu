#include "../common.h"
K k(const unsigned char* x, u32* h) {
  __shared__ u32 s[64]; u32 t = threadIdx.x;
  if (t < 64) s[t] = 0;
#if BAD != 1
  __syncthreads();
#endif
  for (u32 i = t; i < 1024; i += 256) {
    u32 d = x[blockIdx.x * 1024 + i] & 63;
#if BAD == 2
    s[d]++;
#else
    atomicAdd(&s[d], 1);
#endif
  }
  __syncthreads();
  if (t < 64) atomicAdd(&h[t], s[t]);
}
