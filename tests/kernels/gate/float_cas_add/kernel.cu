// float addition by compare-and-swap; buggy: plain read and write
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *f) {
  float v = blockIdx.x ? 1.0f : 2.0f;
  if (BUG) { f[0] = __float_as_uint(__uint_as_float(f[0]) + v); return; }
  unsigned old = *(volatile unsigned *)f, seen;
  do { seen = old; old = atomicCAS(f, seen, __float_as_uint(__uint_as_float(seen) + v)); } while (old != seen);
}
