// Sums of a tree, one block a leaf: the second of two blocks goes on with the parent, and sets its counter back.
extern "C" __global__ void k(unsigned *count, unsigned *x) {
  __shared__ bool second;
  unsigned i = threadIdx.x, size = blockDim.x, n = gridDim.x + blockIdx.x;
  x[n * size + i] = n + i;
  while (n > 1) {
    n /= 2;
    if (BAD != 1) __threadfence();
    if (BAD != 2) __syncthreads();
    if (i == 0) second = atomicAdd(&count[n], 1) == (BAD == 3 ? 0 : 1);
    __syncthreads();
    if (!second) return;
    if (BAD != 4) __threadfence();
    x[n * size + i] = x[2 * n * size + i] + x[(2 * n + 1) * size + (i + 1) % size] + (BAD == 5 ? blockIdx.x : 0);
    if (i == 0) count[n] = 0;
  }
}
