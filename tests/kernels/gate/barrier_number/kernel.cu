// a barrier's number comes from memory; buggy: it is 16
extern "C" __global__ void k(unsigned *id, unsigned *out) {
  __shared__ unsigned s[2];
  s[threadIdx.x] = threadIdx.x + 1;
  asm volatile("barrier.sync %0;" :: "r"(*id + BUG) : "memory");
  out[threadIdx.x] = s[threadIdx.x ^ 1];
}
