// lane 0 takes and opens a lock for its warp; buggy: it opens without waiting for the other lanes
extern "C" __global__ void k(unsigned *lock, unsigned *x) {
  unsigned t = threadIdx.x;
  if (t == 0) {
    while (atomicCAS(lock, 0u, 1u) != 0) { }
    __threadfence();
  }
  __syncwarp();
  x[t] = x[t] + 1;
  if (!BUG) __syncwarp();
  if (t == 0) {
    __threadfence();
    atomicExch(lock, 0u);
  }
}
