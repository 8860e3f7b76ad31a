// an arrival that must not complete the phase; buggy: it may be the last
#include <cuda/ptx>
namespace ptx = cuda::ptx;
__device__ inline void wait0(uint64_t *b) { while (!ptx::mbarrier_try_wait_parity(b, 0)) { } }
extern "C" __global__ void k(unsigned *out) {
  __shared__ uint64_t bar; __shared__ unsigned s;
  unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  if (t == 0) ptx::mbarrier_init(&bar, BUG ? blockDim.x : blockDim.x + 1);
  __syncthreads();
  if (t == 0) { s = 5; ptx::mbarrier_arrive_no_complete(&bar, 1); }
  if (!BUG || t != 0) ptx::mbarrier_arrive(&bar);
  wait0(&bar);
  out[i] = s;
}
