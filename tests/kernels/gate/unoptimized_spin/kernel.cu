// a lock, not optimized: the loop waits by calling a function that says on the stack what it found; buggy: no fence behind it
// (nvcc -Xcicc -O0)
__device__ void try_lock(unsigned *lock, bool *taken) {
  unsigned found = atomicCAS(lock, 0, 1);
  *taken = found == 0;
  if (*taken && !BUG) __threadfence();
}
__device__ void unlock(unsigned *lock) {
  __threadfence();
  atomicExch(lock, 0);
}
extern "C" __global__ void k(unsigned *lock, unsigned *x) {
  bool taken = false;
  while (!taken) try_lock(lock, &taken);
  *x = *x + 1;
  unlock(lock);
}
