#include "../common.h"
K k(const u32* x, u32* out) {
  __shared__ __align__(128) u32 s[4][128]; __shared__ u64 full[4], empty[4];
  u32 t = threadIdx.x, b = blockIdx.x;
  if (t == 0) {
    for (int i = 0; i < 4; i++) { mb_init(&full[i], 1); mb_init(&empty[i], BAD == 1 ? 127 : 128); }
#if BAD != 4
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    proxy_fence();
#endif
  }
  __syncthreads();
  if (t < 32) {
    if (t == 0) for (int i = 0; i < 16; i++) {
      int st = i & 3;
      if (i >= 4) mb_wait(&empty[st], BAD == 2 ? 0 : ((i >> 2) & 1) ^ 1);
      mb_expect(&full[st], BAD == 3 ? 256 : 512);
      bulk_load(s[st], x + b * 2048 + i * 128, 512, &full[st]);
    }
  } else {
    u32 c = t - 32, sum = 0;
    for (int i = 0; i < 16; i++) {
      int st = i & 3;
      mb_wait(&full[st], (i >> 2) & 1);
      sum += s[st][c];
      proxy_fence();
      mb_arrive(&empty[st]);
    }
    out[b * 128 + c] = sum;
  }
}
