// persistent blocks draw tiles, count in shared memory and add up at the end; buggy: a tile is drawn before all have learnt of the last one
extern "C" __global__ void k(const unsigned *in, unsigned *next, unsigned *bins, unsigned *sum) {
  __shared__ unsigned count[32], drawn;
  unsigned seen = 0;
  if (threadIdx.x < 32) count[threadIdx.x] = 0;
  __syncthreads();
  for (;;) {
    if (threadIdx.x == 0) drawn = atomicAdd(next, 1);
    __syncthreads();
    const unsigned tile = drawn;
    if (!BUG) __syncthreads();
    if (tile >= 6) break;
    const unsigned x = in[tile * blockDim.x + threadIdx.x];
    atomicAdd(&count[x % 32], 1);
    seen += x;
  }
  __syncthreads();
  if (threadIdx.x < 32) atomicAdd(&bins[threadIdx.x], count[threadIdx.x]);
  atomicAdd(sum, seen);
}
