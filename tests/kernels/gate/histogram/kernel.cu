// counters incremented by several threads; buggy: not atomic
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *h) {
  if (BUG) h[0] = h[0] + 1; else atomicAdd(h, 1);
}
