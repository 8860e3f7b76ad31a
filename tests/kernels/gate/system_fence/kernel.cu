// __threadfence_block where the reader is in another block
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *x, volatile unsigned *f, unsigned *out) {
  if (blockIdx.x == 0) { *x = 42; if (BUG) __threadfence_block(); else __threadfence_system(); *f = 1; }
  else { while (!*f) {} __threadfence(); out[0] = *x; }
}
