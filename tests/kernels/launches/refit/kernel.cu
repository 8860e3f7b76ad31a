// Bounds of a binary tree from its leaves, one thread a leaf: the second of two children goes on with the parent.
extern "C" __global__ void k(unsigned *count, unsigned *low, unsigned *high) {
  unsigned n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x, node = n + i;
  low[node] = high[node] = i * 7 % 101 + 3;
  while (node > 1) {
    node /= 2;
    if (BAD != 1) __threadfence();
    if (atomicAdd(&count[node], 1) == (BAD == 3 ? 1 : 0)) return;
    if (BAD != 2) __threadfence();
    low[node] = min(low[2 * node], low[2 * node + 1]);
    high[node] = BAD == 4 && i % 2 ? low[node] : max(high[2 * node], high[2 * node + 1]);
  }
}
