// a block of 256 threads adds up by shuffles, its warps by shared memory; buggy: no barrier in between
extern "C" __global__ void k(unsigned *out) {
  __shared__ unsigned w[8];
  unsigned t = threadIdx.x, v = t + 1;
  for (int d = 16; d; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
  if (t % 32 == 0) w[t / 32] = v;
  if (!BUG) __syncthreads();
  if (t < 32) {
    v = t < 8 ? w[t] : 0;
    for (int d = 4; d; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
    if (t == 0) out[0] = v;
  }
}
