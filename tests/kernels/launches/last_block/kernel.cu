#include "../common.h"
K k(const u32* x, u32* part, u32* count, u32* out) {
  __shared__ u32 s[256]; __shared__ bool last;
  u32 t = threadIdx.x;
  s[t] = x[blockIdx.x * 256 + t]; __syncthreads();
  for (u32 o = 128; o; o >>= 1) { if (t < o) s[t] += s[t + o];
#if BAD == 3
    if (o > 32)
#endif
    __syncthreads(); }
  if (t == 0) {
    part[blockIdx.x] = s[0];
#if BAD != 1
    __threadfence();
#endif
    last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
#if BAD != 2
    __threadfence();
#endif
  }
  __syncthreads();
  if (last) {
    s[t] = t < gridDim.x ? ((volatile u32*)part)[t] : 0; __syncthreads();
    for (u32 o = 128; o; o >>= 1) { if (t < o) s[t] += s[t + o]; __syncthreads(); }
    if (t == 0) *out = s[0];
  }
}
