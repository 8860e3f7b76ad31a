#include "../common.h"
K k(const u32* x, u32* out) {
  __shared__ __align__(128) u32 s[2][128]; __shared__ u64 full[2], empty[2];
  u32 t = threadIdx.x, b = blockIdx.x;
  if (t == 0) { for (int i = 0; i < 2; i++) { mb_init(&full[i], 1); mb_init(&empty[i], 2); } asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); proxy_fence(); }
  __syncthreads();
  if (t >= 256) {
    if (t == 256) for (u32 i = 0; i < 8; i++) {
      u32 q = i & 1, ph = (i >> 1) & 1;
      mb_wait(&empty[q], ph ^ 1);
      proxy_fence();
      mb_expect(&full[q], 512);
      bulk_load(s[q], x + b * 1024 + i * 128, 512, &full[q]);
    }
  } else {
    u32 g = t / 128, c = t & 127, sum = 0;
    for (u32 i = 0; i < 8; i++) {
      u32 q = i & 1, ph = (i >> 1) & 1;
      mb_wait(&full[q], BAD == 1 ? 0 : ph);
      sum += s[q][c];
#if BAD != 2
      asm volatile("bar.sync %0, 128;" :: "r"(1 + g) : "memory");
#endif
      if (c == 0) { proxy_fence(); mb_arrive(&empty[q]); }
    }
    out[b * 256 + t] = sum;
  }
}
