// 256 threads count numbers in shared memory, and add up in global memory; buggy: the wrong bits choose where
extern "C" __global__ void k(const unsigned *in, unsigned *h) {
  __shared__ unsigned s[8];
  unsigned t = threadIdx.x;
  if (t < 8) s[t] = 0;
  __syncthreads();
  atomicAdd(&s[in[t] & (BUG ? 3 : 7)], 1);
  __syncthreads();
  if (t < 8) atomicAdd(&h[t], s[t]);
}
