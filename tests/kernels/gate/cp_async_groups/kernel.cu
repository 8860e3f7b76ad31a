// cp.async in two groups; buggy: waits for all but one
#include <cuda/atomic>
#include <cuda_pipeline.h>
extern "C" __global__ void k(unsigned *g, unsigned *out) {
  __shared__ unsigned s[2];
  __pipeline_memcpy_async(&s[0], &g[0], 4); __pipeline_commit();
  __pipeline_memcpy_async(&s[1], &g[1], 4); __pipeline_commit();
  __pipeline_wait_prior(1);
  out[0] = s[0];
  if (!BUG) __pipeline_wait_prior(0);
  out[1] = s[1];
}
