extern "C" __global__ void count(unsigned *lock, unsigned *x) {
  while (atomicCAS(lock, 0, 1) != 0) {}
  __threadfence();
  *x = *x + 1;
  __threadfence();
  atomicExch(lock, 0);
}
