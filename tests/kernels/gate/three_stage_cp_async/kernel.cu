// a ring of three stages by cp.async in a warp, all but one group awaited; buggy: all but two
#include <cuda_pipeline.h>
extern "C" __global__ void k(unsigned *g, unsigned *out) {
  __shared__ unsigned s[3][4];
  unsigned t = threadIdx.x, sum = 0;
#pragma unroll
  for (int i = 0; i < 2; ++i) { __pipeline_memcpy_async(&s[i][t], g + 4 * i + t, 4); __pipeline_commit(); }
  for (int i = 0; i < 4; ++i) {
    __pipeline_wait_prior(BUG ? 2 : 1);
    __syncwarp(0xf);
    sum += s[i % 3][(t + 1) % 4];
    if (i + 2 < 4) __pipeline_memcpy_async(&s[(i + 2) % 3][t], g + 4 * (i + 2) + t, 4);
    __pipeline_commit();
  }
  out[t] = sum;
}
