#include "../common.h"
K k(const u32* a, const u32* b, u32* c) {
  __shared__ u32 sa[16][16], sb[16][16]; u32 tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty, acc = 0;
  for (u32 k0 = 0; k0 < 32; k0 += 16) {
    sa[ty][tx] = a[y * 32 + k0 + tx]; sb[ty][tx] = b[(k0 + ty) * 32 + x];
#if BAD != 1
    __syncthreads();
#endif
    for (u32 i = 0; i < 16; i++) acc += sa[ty][i] * sb[i][tx];
#if BAD != 2
    __syncthreads();
#endif
  }
  c[y * 32 + x] = acc;
}
