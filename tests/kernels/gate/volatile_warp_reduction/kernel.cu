// the old warp reduction through volatile shared memory; fixed: with __syncwarp between reading and writing; buggy: as it was
extern "C" __global__ void k(unsigned *out) {
  __shared__ unsigned buf[8];
  volatile unsigned *s = buf;
  unsigned t = threadIdx.x;
  s[t] = t + 1;
  if (!BUG) __syncwarp(0xff);
#pragma unroll
  for (int d = 4; d > 0; d >>= 1) {
    if (BUG) { if (t < d) s[t] += s[t + d]; }
    else { unsigned v = t < d ? s[t + d] : 0; __syncwarp(0xff); if (t < d) s[t] += v; __syncwarp(0xff); }
  }
  if (t == 0) *out = s[0];
}
