#include "../common.h"
K k(const u32* a, u32* ws, u32* flag, u32* c) {
  u32 t = threadIdx.x, b = blockIdx.x, tile = b >> 1;
  u32 acc = a[b * 128 + t];
  if (b & 1) {
    ws[b * 128 + t] = acc;
#if BAD != 1
    __syncthreads();
#endif
    if (t == 0) { __threadfence(); atomicExch(flag + b, 1); }
  } else {
    if (t == 0) { while (atomicAdd(flag + b + 1, 0) == 0) ;
#if BAD != 2
      __threadfence();
#endif
    }
    __syncthreads();
    c[tile * 128 + t] = acc + ws[(b + 1) * 128 + t];
  }
}
