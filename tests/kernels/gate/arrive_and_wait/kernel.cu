// cuda::barrier arrive_and_wait in a loop of two phases; buggy: the second phase is left out
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
  bar.arrive_and_wait();
  unsigned v = s[1 - t];
  if (!BUG) bar.arrive_and_wait();
  s[t] = v + 10;
  bar.arrive_and_wait();
  out[t] = s[t];
}
