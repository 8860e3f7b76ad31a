// pipeline with roles, 1 stage, 3 items; buggy: no wait
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(unsigned *g, unsigned *out) {
  constexpr int stages = 1, iters = 3;
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
  __shared__ unsigned s[stages];
  auto block = cg::this_thread_block();
  const bool produces = threadIdx.x < 1;
  auto p = cuda::make_pipeline(block, &state, produces ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);

  if (produces) {
    for (int i = 0; i < iters; i++) {
      p.producer_acquire();
      s[i % stages] = g[i];
      p.producer_commit();
    }
  } else {
    for (int i = 0; i < iters; i++) {
      if (!BUG) p.consumer_wait();
      unsigned v = s[i % stages];
      p.consumer_release();
      out[i] = v;
    }
  }
  block.sync();
}
