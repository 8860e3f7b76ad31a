// threads beyond the end return before the barrier, which counts those that have left; buggy: a named barrier counts on them
extern "C" __global__ void k(unsigned n, unsigned *out) {
  __shared__ unsigned s[64];
  unsigned t = threadIdx.x;
  if (t >= n) return;
  s[t] = t;
  if (BUG) asm volatile("bar.sync 1, 64;" ::: "memory"); else __syncthreads();
  out[t] = s[n - 1 - t];
}
