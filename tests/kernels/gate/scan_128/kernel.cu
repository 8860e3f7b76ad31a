// a block of 128 threads computes all sums of beginnings in shared memory; buggy: the last step is left out
extern "C" __global__ void k(unsigned *out) {
  __shared__ unsigned s[128];
  unsigned t = threadIdx.x;
  s[t] = t + 1;
  __syncthreads();
  for (unsigned d = 1; d < (BUG ? 64 : 128); d *= 2) {
    unsigned v = t >= d ? s[t - d] : 0;
    __syncthreads();
    s[t] += v;
    __syncthreads();
  }
  out[t] = s[t];
}
