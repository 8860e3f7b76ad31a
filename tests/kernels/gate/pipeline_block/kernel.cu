// unified pipeline of a block, 2 stages, 3 items; buggy: released before it is read
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(unsigned *g, unsigned *out) {
  constexpr int stages = 2, iters = 3;
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
  __shared__ unsigned s[stages][2];
  auto block = cg::this_thread_block();
  auto p = cuda::make_pipeline(block, &state);
  int next = 0;
  for (int i = 0; i < iters; i++) {
    for (; next < iters && next < i + stages; next++) {
      p.producer_acquire();
      cuda::memcpy_async(block, s[next % stages], g + 2 * next, 2 * sizeof(unsigned), p);
      p.producer_commit();
    }
    p.consumer_wait();
    if (BUG) p.consumer_release();
    out[2 * i + threadIdx.x] = s[i % stages][1 - threadIdx.x];
    if (!BUG) p.consumer_release();
  }
  block.sync();
}
