// cuda::barrier in two halves: what is written before arrive is seen after wait; buggy: written after it
#include <cuda/barrier>
#include <cuda/std/utility>
using bar_t = cuda::barrier<cuda::thread_scope_block>;
#pragma nv_diag_suppress static_var_with_dynamic_init
extern "C" __global__ void k(unsigned *out) {
  __shared__ bar_t b; __shared__ unsigned s[2];
  unsigned t = threadIdx.x;
  if (t == 0) init(&b, 2);
  __syncthreads();
  if (!BUG) s[t] = t + 1;
  auto token = b.arrive();
  if (BUG) s[t] = t + 1;
  b.wait(cuda::std::move(token));
  out[t] = s[1 - t];
}
