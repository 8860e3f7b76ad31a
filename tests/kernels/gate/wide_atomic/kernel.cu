// a counter and a pointer in one 64-bit word; buggy: two 32-bit stores
#include <cuda/atomic>
extern "C" __global__ void k(unsigned long long *p, unsigned *out) {
  if (blockIdx.x == 0) { if (BUG) { atomicExch((unsigned *)p, 3); atomicExch((unsigned *)p + 1, 3); } else atomicExch(p, 0x300000003ull); }
  else { unsigned long long v = atomicAdd(p, 0ull); out[0] = (unsigned)v; out[1] = (unsigned)(v >> 32); }
}
