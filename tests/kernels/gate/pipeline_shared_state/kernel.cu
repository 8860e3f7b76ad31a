// cuda::pipeline of two stages shared by a block, producer_acquire to consumer_release; buggy: a stage is read behind its release
#include <cuda/pipeline>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
#pragma nv_diag_suppress static_var_with_dynamic_init
extern "C" __global__ void k(const unsigned *in, unsigned *out) {
  __shared__ unsigned s[2][2];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  unsigned t = threadIdx.x, sum = 0;
  for (int i = 0, next = 0; i < 3; ++i) {
    for (; next < 3 && next < i + 2; ++next) {
      pipe.producer_acquire();
      cuda::memcpy_async(&s[next % 2][t], in + 2 * next + t, sizeof(unsigned), pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    if (!BUG) sum += s[i % 2][t ^ 1];
    pipe.consumer_release();
    if (BUG) sum += s[i % 2][t ^ 1];
  }
  out[t] = sum;
}
