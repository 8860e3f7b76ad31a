// two blocks add halves, one as a pair, one by a 16-bit compare-and-swap: pairs are atomic half by half, so that both are right
#include <cuda_fp16.h>
extern "C" __global__ void k(__half *h, unsigned *n, __half *out) {
  __half2 v = __floats2half2_rn(blockIdx.x + 1.0f, 0.5f);
  if (BUG && blockIdx.x) {
    unsigned short *p = (unsigned short *)h, old = *(volatile unsigned short *)p, seen;
    while ((seen = atomicCAS(p, old, __half_as_ushort(__hadd(__ushort_as_half(old), __low2half(v))))) != old) old = seen;
  } else atomicAdd((__half2 *)h, v);
  __threadfence();
  if (atomicAdd(n, 1) == 1) { __threadfence(); *out = h[0]; }
}
