#include <cuda/atomic>

extern "C" __global__ void k(unsigned *lock, unsigned *best, unsigned *whose) {
  unsigned me = blockIdx.x * blockDim.x + threadIdx.x, value = me * 37 % 128, wait = 8;
  while (true) {
    while (*(volatile unsigned *)lock) {
    }
    if (atomicCAS(lock, 0, 1) == 0) break;
    __nanosleep(wait);
    if (wait < 256) wait *= 2;
  }
  __threadfence();
  if (value > *best) {
    *best = value;
#if BUG
    __threadfence();
    atomicExch(lock, 0);
    *whose = me;
    return;
#else
    *whose = me;
#endif
  }
  __threadfence();
  atomicExch(lock, 0);
}
