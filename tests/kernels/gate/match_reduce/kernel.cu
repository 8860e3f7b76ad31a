// warp reduction with __reduce_add_sync and a vote; buggy: the mask misses a lane
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *out) {
  unsigned t = threadIdx.x, v = t + 1;
  unsigned s = (BUG && t == 3) ? 0 : __reduce_add_sync(BUG ? 7 : 15, v);
  if (__any_sync(15, t == 3) && t == 0) out[0] = s;
}
