// flag polled as volatile with threadfence on both sides; buggy: no fence in the reader
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *x, volatile unsigned *f, unsigned *out) {
  if (blockIdx.x == 0) { *x = 42; __threadfence(); *f = 1; }
  else { while (!*f) {} if (!BUG) __threadfence(); out[0] = *x; }
}
