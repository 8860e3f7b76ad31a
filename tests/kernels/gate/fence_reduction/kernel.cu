// sums of blocks with 64 threads, the last block adds them up; buggy: without __threadfence
extern "C" __global__ void k(unsigned *part, unsigned *count, unsigned *out) {
  __shared__ bool last; __shared__ unsigned w[2];
  unsigned v = __reduce_add_sync(~0u, threadIdx.x);
  if ((threadIdx.x & 31) == 0) w[threadIdx.x >> 5] = v;
  __syncthreads();
  if (threadIdx.x == 0) {
    part[blockIdx.x] = w[0] + w[1];
    if (!BUG) __threadfence();
    last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) { __threadfence(); out[0] = part[0] + part[1]; }
}
