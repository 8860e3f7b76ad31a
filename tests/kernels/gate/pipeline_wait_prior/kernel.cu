// thread-scope pipeline, 3 batches; buggy: waits for one too few
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(unsigned *g, unsigned *out) {
  __shared__ unsigned s[3][2];
  auto p = cuda::make_pipeline();
  unsigned t = threadIdx.x;
  for (int i = 0; i < 3; i++) {
    p.producer_acquire();
    cuda::memcpy_async(&s[i][t], &g[2 * i + t], sizeof(unsigned), p);
    p.producer_commit();
  }
  cuda::pipeline_consumer_wait_prior<BUG ? 3 : 2>(p);
  __syncthreads();
  out[t] = s[0][1 - t];
  p.consumer_release();
  cuda::pipeline_consumer_wait_prior<0>(p);
  __syncthreads();
  out[2 + t] = s[2][1 - t];
}
