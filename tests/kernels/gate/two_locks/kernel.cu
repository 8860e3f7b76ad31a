// two locks at a time; buggy: taken in opposite orders
__device__ static void lock(unsigned *l) { while (atomicCAS(l, 0u, 1u) != 0) __nanosleep(20); __threadfence(); }
__device__ static void unlock(unsigned *l) { __threadfence(); atomicExch(l, 0u); }
extern "C" __global__ void k(unsigned *la, unsigned *lb, unsigned *x) {
  unsigned b = blockIdx.x;
  unsigned *first = BUG && b ? lb : la, *second = BUG && b ? la : lb;
  lock(first);
  lock(second);
  unsigned a0 = x[0];
  x[0] = a0 + 1 - b;
  x[1] = x[1] + b;
  unlock(second);
  unlock(first);
}
