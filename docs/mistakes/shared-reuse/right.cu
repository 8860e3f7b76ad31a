extern "C" __global__ void add(unsigned *in, unsigned *out) {
  __shared__ unsigned s[2];
  unsigned t = threadIdx.x, sum = 0;
  for (unsigned i = 0; i < 2; ++i) {
    s[t] = in[2 * i + t];
    __syncthreads();
    sum += s[1 - t];
    __syncthreads();
  }
  out[t] = sum;
}
