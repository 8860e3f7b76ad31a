extern "C" __global__ void add(unsigned *lock, unsigned *re, unsigned *im) {
  while (atomicCAS(lock, 0, 1) != 0) {}
  __threadfence();
  *re = *re + 1;
  *im = *im + 1;
  __threadfence();
  atomicExch(lock, 0);
}
