// leader elected by ballot reserves room for the warp by one atomic; buggy: everyone uses the base
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *n, unsigned *out) {
  unsigned t = threadIdx.x, m = __ballot_sync(7, 1), leader = __ffs(m) - 1, base = 0;
  if (t == leader) base = atomicAdd(n, __popc(m));
  base = __shfl_sync(m, base, leader);
  unsigned at = BUG ? base : base + __popc(m & ((1u << t) - 1));
  out[at] = t + 1;
}
