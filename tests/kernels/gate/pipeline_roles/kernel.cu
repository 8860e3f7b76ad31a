// pipeline with roles, 2 stages, 4 items; buggy: released before it is read
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(unsigned *g, unsigned *out) {
  constexpr int stages = 2, iters = 4;
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
  __shared__ unsigned s[stages];
  auto block = cg::this_thread_block();
  const bool produces = threadIdx.x < 1;
  auto p = cuda::make_pipeline(block, &state, produces ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);

  if (produces) {
    for (int i = 0; i < iters; i++) {
      p.producer_acquire();
      if (threadIdx.x == 0) cuda::memcpy_async(&s[i % stages], &g[i], sizeof(unsigned), p);
      p.producer_commit();
    }
  } else {
    for (int i = 0; i < iters; i++) {
      p.consumer_wait();
      if (BUG) p.consumer_release();
      unsigned v = s[i % stages];
      if (!BUG) p.consumer_release();
      out[i] = v;
    }
  }
  block.sync();
}
