// a block shares memory from malloc, and its first thread gives it back; buggy: without a barrier before
extern "C" __global__ void k(unsigned *out) {
  __shared__ unsigned *scratch;
  if (threadIdx.x == 0) scratch = static_cast<unsigned *>(malloc(blockDim.x * sizeof(unsigned)));
  __syncthreads();
  scratch[threadIdx.x] = threadIdx.x + 1;
  __syncthreads();
  out[threadIdx.x] = scratch[blockDim.x - 1 - threadIdx.x];
  if (!BUG) __syncthreads();
  if (threadIdx.x == 0) free(scratch);
}
