// shared counter per block, then one global add by each block; buggy: the global one at block scope
extern "C" __global__ void k(unsigned *n) {
  __shared__ unsigned s;
  if (threadIdx.x == 0) s = 0;
  __syncthreads();
  atomicAdd_block(&s, threadIdx.x + 1);
  __syncthreads();
  if (threadIdx.x == 0) { if (BUG) atomicAdd_block(n, s); else atomicAdd(n, s); }
}
