// cuda::barrier of block scope in shared memory; buggy: the result is read before the wait
#include <cuda/atomic>
#include <cuda/barrier>
#pragma nv_diag_suppress static_var_with_dynamic_init
extern "C" __global__ void k(unsigned *out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ unsigned s[2];
  unsigned t = threadIdx.x;
  if (t == 0) init(&bar, 2);
  __syncthreads();
  s[t] = t + 1;
  auto token = bar.arrive();
  unsigned v = 0;
  if (BUG) v = s[1 - t];
  bar.wait(static_cast<decltype(token)&&>(token));
  if (!BUG) v = s[1 - t];
  out[t] = v;
}
