// Xiao and Feng's lock-free barrier between blocks with volatile arrays; buggy: no __threadfence around it
__device__ void gpu_sync(int goal, volatile unsigned *in, volatile unsigned *out) {
  int tid = threadIdx.x, bid = blockIdx.x, n = gridDim.x;
  if (!BUG) __threadfence();
  __syncthreads();
  if (tid == 0) in[bid] = goal;
  if (bid == 0) {
    if (tid < n) while (in[tid] != goal) { }
    if (!BUG) __threadfence();
    __syncthreads();
    if (tid < n) { out[tid] = goal; }
  }
  if (tid == 0) { while (out[bid] != goal) { } if (!BUG) __threadfence(); }
  __syncthreads();
}
extern "C" __global__ void k(unsigned *in, unsigned *outp, unsigned *x, unsigned *y) {
  unsigned i = blockIdx.x * 2 + threadIdx.x;
  x[i] = 101 + i;
  gpu_sync(1, in, outp);
  y[i] = x[(i + 2) & 3];
}
