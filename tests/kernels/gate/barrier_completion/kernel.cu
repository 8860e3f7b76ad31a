// cuda::barrier with a completion function; buggy: who arrives does not wait
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/semaphore>
#include <cuda/std/atomic>
#include <cuda/std/semaphore>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
struct F { unsigned *x; unsigned *sum; __device__ void operator()() { *sum = x[0]+x[1]+x[2]; } };
extern "C" __global__ void k(unsigned *x, unsigned *sum, unsigned *out) {
  __shared__ cuda::std::aligned_storage<sizeof(cuda::barrier<cuda::thread_scope_block, F>), alignof(cuda::barrier<cuda::thread_scope_block, F>)>::type raw;
  auto &b = reinterpret_cast<cuda::barrier<cuda::thread_scope_block, F> &>(raw);
  if (threadIdx.x == 0) new (&b) cuda::barrier<cuda::thread_scope_block, F>(3, F{x, sum});
  __syncthreads();
  x[threadIdx.x] = threadIdx.x + 1;
  if (BUG) b.arrive(); else b.arrive_and_wait();
  out[threadIdx.x] = *sum;
}
