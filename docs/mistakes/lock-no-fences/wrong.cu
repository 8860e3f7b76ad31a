extern "C" __global__ void count(unsigned *lock, unsigned *x) {
  while (atomicCAS(lock, 0, 1) != 0) {}
  *x = *x + 1;
  atomicExch(lock, 0);
}
