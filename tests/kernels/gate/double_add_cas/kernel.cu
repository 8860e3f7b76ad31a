// doubles added by compare-and-swap on 64 bits; buggy: the old value is not read again
__device__ void add(double *p, double v) {
  unsigned long long *a = (unsigned long long *)p, old = __double_as_longlong(*(volatile double *)p), seen;
  do { seen = old; old = atomicCAS(a, seen, __double_as_longlong(v + __longlong_as_double(seen))); } while (!BUG && old != seen);
}
extern "C" __global__ void k(double *sum) { add(sum, blockIdx.x + threadIdx.x + 0.5); }
