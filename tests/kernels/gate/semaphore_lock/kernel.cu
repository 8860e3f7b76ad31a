// a lock made of atomicCAS and atomicExch; buggy: no fence before the release
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *l, unsigned *x) {
  while (atomicCAS(l, 0, 1)) {}
  __threadfence();
  *x = *x + 1;
  if (!BUG) __threadfence();
  atomicExch(l, 0);
}
