// cuda::pipeline with memcpy_async; buggy: the wait is left out
#include <cuda/atomic>
#include <cuda/pipeline>
extern "C" __global__ void k(unsigned *g, unsigned *out) {
  __shared__ unsigned s[2];
  auto p = cuda::make_pipeline();
  unsigned t = threadIdx.x;
  p.producer_acquire();
  cuda::memcpy_async(&s[t], &g[t], sizeof(unsigned), p);
  p.producer_commit();
  if (!BUG) p.consumer_wait();
  out[t] = s[t];
  p.consumer_release();
}
