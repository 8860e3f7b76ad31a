// cuda::barrier whose first thread drops out; buggy: no second phase
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/semaphore>
#include <cuda/std/atomic>
#include <cuda/std/semaphore>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(unsigned *x, unsigned *out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> b;
  if (threadIdx.x == 0) init(&b, 3);
  __syncthreads();
  x[threadIdx.x] = threadIdx.x + 1;
  if (threadIdx.x == 0) { b.arrive_and_drop(); return; }
  b.arrive_and_wait();
  out[threadIdx.x] = x[0] + x[threadIdx.x];
  if (!BUG) b.arrive_and_wait();
  x[threadIdx.x % 2 + 1] = 9;
}
