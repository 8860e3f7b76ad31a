// a call by a pointer to one of two functions; buggy: no fence before the flag
__device__ __noinline__ unsigned twice(unsigned v) { return 2 * v; }
__device__ __noinline__ unsigned thrice(unsigned v) { return 3 * v; }
typedef unsigned (*op)(unsigned);
extern "C" __global__ void k(unsigned *data, unsigned *flag, unsigned *out, unsigned which) {
  op f = which ? thrice : twice;
  if (blockIdx.x == 0) { data[0] = f(7); if (!BUG) __threadfence(); atomicExch(flag, 1); }
  else { if (atomicAdd(flag, 0)) { __threadfence(); out[0] = data[0]; } }
}
