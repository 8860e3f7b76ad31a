#include "../common.h"
K k(const u32* x, u64* best) {
  __shared__ u64 s[8];
  u32 i = blockIdx.x * 256 + threadIdx.x; u64 v = ((u64)x[i] << 32) | i;
  for (int o = 16; o; o >>= 1) { u64 w = __shfl_xor_sync(~0u, v, o); v = v > w ? v : w; }
  if ((threadIdx.x & 31) == 0) s[threadIdx.x / 32] = v;
#if BAD != 1
  __syncthreads();
#endif
  if (threadIdx.x == 0) { for (int w = 1; w < 8; w++) v = v > s[w] ? v : s[w]; atomicMax(best, v); }
}
