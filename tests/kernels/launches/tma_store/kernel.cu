#include "../common.h"
K k(const u32* x, u32* out) {
  __shared__ __align__(128) u32 s[128]; u32 t = threadIdx.x, b = blockIdx.x;
  for (u32 i = 0; i < 4; i++) {
    s[t] = x[b * 512 + i * 128 + t] + 1;
#if BAD != 1
    proxy_fence();
#endif
#if BAD != 2
    __syncthreads();
#endif
    if (t == 0) { bulk_store(out + b * 512 + i * 128, s, 512); bulk_commit();
#if BAD == 3
      asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
#else
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#endif
    }
    __syncthreads();
  }
  if (t == 0) bulk_wait0();
}
