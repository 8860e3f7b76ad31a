#include "../common.h"
K k(const u32* x, u32* part, u32* bar, u32* out) {
  __shared__ u32 s[8], sum;
  u32 t = threadIdx.x, v = x[blockIdx.x * 256 + t];
  v = __reduce_add_sync(~0u, v);
  if ((t & 31) == 0) s[t / 32] = v;
  __syncthreads();
  if (t == 0) {
    u32 a = 0; for (int i = 0; i < 8; i++) a += s[i];
    part[blockIdx.x] = a;
    gatom(*bar).fetch_add(1, BAD == 1 ? RLX : REL);
    while (gatom(*bar).load(ACQ) < gridDim.x) ;
    a = 0; for (int i = 0; i < 8; i++) a += part[i];
    sum = a;
  }
  __syncthreads();
  if (t == 5) out[blockIdx.x] = sum;
}
