// a block sorts 16 numbers by a bitonic network in shared memory; buggy: one barrier between two steps is missing
extern "C" __global__ void k(unsigned *x) {
  __shared__ unsigned s[16];
  unsigned t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  for (unsigned k = 2; k <= 16; k *= 2)
    for (unsigned j = k / 2; j > 0; j /= 2) {
      unsigned o = t ^ j;
      if (o > t) {
        unsigned a = s[t], b = s[o];
        if ((t & k) == 0 ? a > b : a < b) { s[t] = b; s[o] = a; }
      }
      if (!(BUG && k == 16 && j == 2)) __syncthreads();
    }
  x[t] = s[t];
}
