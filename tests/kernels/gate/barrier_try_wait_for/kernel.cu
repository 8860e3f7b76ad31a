// cuda::barrier tried for a time, again and again: libcu++ hands over a register that nothing wrote as the hint of the first
// try; buggy: tried once only
#include <cuda/barrier>
using Barrier = cuda::barrier<cuda::thread_scope_block>;
extern "C" __global__ void k(unsigned *out, unsigned n) {
  __shared__ Barrier bar;
  __shared__ unsigned x[2];
  unsigned t = threadIdx.x;
  if (t == 0) init(&bar, 2);
  __syncthreads();
  x[t] = n + t;
  auto token = bar.arrive();
  while (!bar.try_wait_for(cuda::std::move(token), cuda::std::chrono::nanoseconds(100)) && !BUG) {}
  out[t] = x[1 - t];
}
