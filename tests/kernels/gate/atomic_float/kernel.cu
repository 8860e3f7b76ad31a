// atomicAdd on floats; buggy: of block scope on a counter shared by blocks
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *f) {
  float v = blockIdx.x ? 1.0f : 2.0f;
  if (BUG) atomicAdd_block((float *)f, v); else atomicAdd((float *)f, v);
}
