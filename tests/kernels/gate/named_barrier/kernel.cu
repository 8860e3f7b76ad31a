// producer arrives at a named barrier, consumer waits; buggy: another barrier number
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *out) {
  __shared__ unsigned s;
  if (threadIdx.x < 32) { if (threadIdx.x == 0) s = 5; asm volatile("bar.arrive 1, 64;" ::: "memory"); if (BUG) asm volatile("bar.sync 2, 64;" ::: "memory"); }
  else { if (BUG) asm volatile("bar.sync 2, 64;" ::: "memory"); asm volatile("bar.sync 1, 64;" ::: "memory"); if (threadIdx.x == 32) out[0] = s; }
}
