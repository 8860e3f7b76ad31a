#include "../common.h"
K k(const u32* x, u32* y) {
  __shared__ u32 s[32][33];
  u32 c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) s[threadIdx.y + j][threadIdx.x] = x[(r + j) * 64 + c];
#if BAD != 1
  __syncthreads();
#endif
  c = blockIdx.y * 32 + threadIdx.x; r = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) y[(r + j) * 64 + c] = s[threadIdx.x][threadIdx.y + j];
}
