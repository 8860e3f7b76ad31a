// double buffering with one barrier a turn; buggy: one buffer only
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *in, unsigned *out) {
  __shared__ unsigned s[2][2];
  unsigned t = threadIdx.x, sum = 0;
  for (unsigned i = 0; i < 3; ++i) {
    unsigned b = BUG ? 0 : i & 1;
    s[b][t] = in[2 * i + t];
    __syncthreads();
    sum += s[b][1 - t];
  }
  out[t] = sum;
}
